package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/internal/buildinfo"
)

// Version prints the version and which programs a run would start.
func Version(ctx context.Context, w io.Writer) error {
	fmt.Fprintf(w, "unwedge %s %s %s/%s\n", buildinfo.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	p, err := target.FindPrograms(ctx, "", "")
	if err != nil {
		return err
	}
	helper := p.Helper
	if helper == "" {
		helper = "none beside this program: it starts itself instead"
	}
	fmt.Fprintf(w, "program   %s\nhelper    %s\n", p.Unwedge, helper)
	return nil
}
