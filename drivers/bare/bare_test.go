package bare

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/drivers/internal/plaintest"
	"github.com/unwedge/unwedge/harness/driver"
)

func TestMain(m *testing.M) { plaintest.Main(m) }

func TestCallsOverBothTransportsInBothEras(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			g := NewWithT(t)
			d := plaintest.Start(t, Main)
			r := d.Do(driver.Request{Op: driver.OpConfigure, Config: &driver.Config{
				Era: era,
				Servers: []driver.Server{
					plaintest.Child(t, "child"), plaintest.Web(t, "web", era), {Name: "lost", Command: "/nonexistent/server"},
				},
				Settings: driver.Settings{StopGraceMS: 500},
			}})
			g.Expect(r.OK).To(BeTrue())
			g.Expect(r.Info.Supports).To(BeEmpty())

			r = d.Do(driver.Request{Op: driver.OpList})
			tools := map[string]int{}
			for _, tool := range r.Tools {
				tools[tool.Server]++
			}
			g.Expect(tools).To(Equal(map[string]int{"child": 4, "web": 4}))
			g.Expect(r.Tools).To(ContainElements(
				driver.Tool{Server: "child", Name: "echo"}, driver.Tool{Server: "web", Name: "hang"}))

			for _, server := range []string{"child", "web"} {
				r = d.Call(server, "echo", plaintest.Args{Nonce: server})
				g.Expect(r.Error).To(BeNil())
				g.Expect(r.Result.Text).To(Equal(server))
			}

			r = d.Call("lost", "echo", plaintest.Args{})
			g.Expect(r.Error.Kind).To(Equal(driver.KindNoSession))
			g.Expect(r.Error.Outcome).To(Equal(driver.OutcomeNotSent))

			r = d.Do(driver.Request{Op: driver.OpCall, Server: "web", Tool: "hang", Args: json.RawMessage(`{"nonce":"x"}`), TimeoutMS: 20})
			g.Expect(r.Error.Kind).To(Equal(driver.KindTimeout))

			for _, op := range []string{driver.OpStatus, driver.OpReconnect} {
				r = d.Do(driver.Request{Op: op, Server: "web"})
				g.Expect(r.Error.Kind).To(Equal(driver.KindOther))
				g.Expect(r.Error.Message).To(ContainSubstring("not supported"))
			}

			r = d.Do(driver.Request{Op: driver.OpClose})
			g.Expect(r.OK).To(BeTrue(), "%+v", r.Error)
			g.Expect(<-d.Code).To(BeZero())
		})
	}
}

// What makes it the barest one: a server that died is never started again.
func TestNeverReconnects(t *testing.T) {
	g := NewWithT(t)
	d := plaintest.Start(t, Main)
	d.Do(driver.Request{Op: driver.OpConfigure, Config: &driver.Config{
		Servers:  []driver.Server{plaintest.Child(t, "child")},
		Settings: driver.Settings{StopGraceMS: 200},
	}})
	p := d.Process("child")
	g.Expect(p.Kill()).To(Succeed())

	echo := func() *driver.Error { return d.Call("child", "echo", plaintest.Args{Nonce: "1"}).Error }
	g.Eventually(func() string {
		if e := echo(); e != nil {
			return e.Kind
		}
		return ""
	}).WithTimeout(plaintest.Patience).Should(Equal(driver.KindTransport))
	g.Consistently(echo).WithTimeout(50 * time.Millisecond).ShouldNot(BeNil())

	d.Do(driver.Request{Op: driver.OpClose})
	g.Expect(<-d.Code).To(BeZero())
	g.Expect(errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)).To(BeTrue())
}

func TestArgumentsAreRefused(t *testing.T) {
	NewWithT(t).Expect(Main([]string{"x"}, nil, nil, io.Discard)).To(Equal(2))
}
