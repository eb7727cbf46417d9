package naive

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/drivers/internal/plaintest"
	"github.com/unwedge/unwedge/harness/driver"
)

func TestMain(m *testing.M) { plaintest.Main(m) }

// start configures a driver with one stdio server, "child".
func start(t *testing.T, also ...driver.Server) *plaintest.Driver {
	t.Helper()
	d := plaintest.Start(t, Main)
	r := d.Do(driver.Request{Op: driver.OpConfigure, Config: &driver.Config{
		Servers:  slices.Concat([]driver.Server{plaintest.Child(t, "child")}, also),
		Settings: driver.Settings{StopGraceMS: 200},
	}})
	if r.Error != nil || r.Info.Name != "naive" {
		t.Fatal(r)
	}
	return d
}

func TestReconnectsOnceForAllThatFailTogether(t *testing.T) {
	g := NewWithT(t)
	d := start(t)
	before := d.Process("child")
	g.Expect(before.Kill()).To(Succeed())

	pids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range pids {
		wg.Go(func() {
			if r := d.Call("child", "pid", plaintest.Args{}); r.Error == nil {
				pids[i] = r.Result.Text
			}
		})
	}
	wg.Wait()
	after := d.Process("child")
	g.Expect(after.Pid).NotTo(Equal(before.Pid))
	g.Expect(slices.Compact(pids)).To(HaveLen(1), "all on one new process: %v", pids)

	g.Expect(d.Do(driver.Request{Op: driver.OpClose}).OK).To(BeTrue())
	g.Expect(<-d.Code).To(BeZero())
	g.Expect(errors.Is(after.Signal(syscall.Signal(0)), os.ErrProcessDone)).To(BeTrue())
}

// What replay-non-idempotent must catch.
func TestSendsTheFailedCallOnceMore(t *testing.T) {
	g := NewWithT(t)
	d := start(t)
	ledger := filepath.Join(t.TempDir(), "ledger")
	r := d.Call("child", "die", plaintest.Args{Nonce: "n1", File: ledger})
	g.Expect(r.Error).NotTo(BeNil())
	b, err := os.ReadFile(ledger)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Fields(string(b))).To(Equal([]string{"n1", "n1"}))
	g.Expect(d.Call("child", "echo", plaintest.Args{Nonce: "n2"}).Error).To(BeNil(), "the next call reconnects")
}

// A caller whose time is up gets no second try; the session has the blame all the same.
func TestReplacesAHealthyServerForOneSlowCall(t *testing.T) {
	g := NewWithT(t)
	d := start(t)
	before := d.Process("child")
	r := d.Do(driver.Request{Op: driver.OpCall, Server: "child", Tool: "hang", Args: json.RawMessage(`{"nonce":"x"}`), TimeoutMS: 20})
	g.Expect(r.Error.Kind).To(Equal(driver.KindTimeout))
	g.Expect(d.Process("child").Pid).NotTo(Equal(before.Pid))
}

func TestServerThatCannotBeReached(t *testing.T) {
	g := NewWithT(t)
	d := start(t, driver.Server{Name: "lost", Command: "/nonexistent/server"})
	r := d.Call("lost", "echo", plaintest.Args{})
	g.Expect(r.Error.Kind).To(Equal(driver.KindNoSession))
	g.Expect(r.Error.Outcome).To(Equal(driver.OutcomeNotSent))
	g.Expect(r.Error.Message).To(ContainSubstring(`server "lost"`))
	g.Expect(d.Call("child", "echo", plaintest.Args{Nonce: "1"}).Error).To(BeNil())
}

func TestArgumentsAreRefused(t *testing.T) {
	NewWithT(t).Expect(Main([]string{"x"}, nil, nil, &strings.Builder{})).To(Equal(2))
}
