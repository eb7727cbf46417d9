//go:build !unix

package stdio

import (
	"errors"
	"os"
)

// exclusive needs a lock that ends with its process.
func exclusive(string) (*os.File, error) { return nil, errors.ErrUnsupported }
