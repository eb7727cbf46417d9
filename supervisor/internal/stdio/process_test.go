package stdio

import (
	"testing"
)

func TestSlice(t *testing.T) {
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			p := start(t, nil)
			s := connect(t, p, version)
			got, err := call(t.Context(), s, "echo", map[string]any{"nonce": "n1"})
			if err != nil || got != "n1" {
				t.Fatal(got, err)
			}
			_, err = call(t.Context(), s, "misbehave", map[string]any{"how": "exit1"})
			if err == nil {
				t.Fatal("no error")
			}
			await(t, "death", p.Dead())
			t.Log(err, p.Death(), p.Stderr())
		})
	}
}
