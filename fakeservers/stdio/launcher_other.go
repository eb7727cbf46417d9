//go:build !unix

package stdio

import "errors"

func launch(string, []string) (int, error) { return 0, errors.ErrUnsupported }

func (f *fake) killLauncher() {}
