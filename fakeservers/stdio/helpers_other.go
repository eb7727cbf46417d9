//go:build !unix

package stdio

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/internal/proc"
)

func (f *fake) holdPipes(time.Duration) child { return child{err: proc.ErrUnsupported} }

func (f *fake) holdStdin() child { return child{err: proc.ErrUnsupported} }

func hold(*journal.Writer) error { return proc.ErrUnsupported }
