package scenarios_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/internal/cli"
)

// There is one list of scenarios: what the command lists, and certifies, is what the suite has specs for.
func TestCommandAndSuiteRunTheSame(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect(cli.List(&out, "scenarios", true)).To(Succeed())
	var listed []struct {
		ID   string
		Eras []string
	}
	g.Expect(json.Unmarshal(out.Bytes(), &listed)).To(Succeed())
	var command, suite []string
	for _, l := range listed {
		for _, era := range l.Eras {
			command = append(command, fmt.Sprintf("%s (%s)", l.ID, era))
		}
	}
	for _, c := range cases() {
		suite = append(suite, c.String())
	}
	g.Expect(suite).To(Equal(command))
	g.Expect(suite).NotTo(BeEmpty())
}
