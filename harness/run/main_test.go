package run

import (
	"testing"

	"github.com/unwedge/unwedge/harness/internal/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m, nil) }
