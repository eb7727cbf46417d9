package faults

import (
	"context"
	"fmt"
	"net/http"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// http401Window is a server that answers every POST with 401 for a while and accepts the same requests again afterwards, with no
// new login: a gateway that restarts its session store, a key server that was away. The class has no row in
// the public reports; those of "oauth-late-401" come nearest.
func http401Window() []Fault { return []Fault{unauthorized{}} }

type unauthorized struct{}

func (unauthorized) What() Info {
	const id = "http-401-window"
	return Info{
		ID:        id,
		Class:     "http-401-window",
		Group:     "E",
		Transport: HTTP,
		Title:     "every POST is answered 401 for a while",
		Recovery:  "fail the call at once with an error that names authorization, come back by itself when it is accepted again",
		Reports:   []string{"danny-avila/LibreChat#13249"},
		NeedsCall: true,
		Loud:      true,
		Rules: []script.Rule{{
			Name: id,
			When: script.When{On: script.OnHTTP, HTTP: http.MethodPost, Phase: script.Faulty},
			Do: []script.Action{{Status: &script.Status{
				Code:    http.StatusUnauthorized,
				Headers: map[string]string{"WWW-Authenticate": `Bearer error="invalid_token"`},
				Body:    "unauthorized\n",
			}}},
		}},
	}
}

func (unauthorized) Inject(ctx context.Context, s Site) error { return phaseOn(ctx, s) }

func (f unauthorized) Observed(ctx context.Context, s Site) (string, error) {
	e, err := ruleFired(ctx, s, f.What().ID)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s answered a POST with 401", lifeOf(e)), nil
}

func (unauthorized) Lift(ctx context.Context, s Site) error { return phaseOff(ctx, s) }

// Lifted has nothing to wait for: Lift returned when the server accepted again.
func (unauthorized) Lifted(context.Context, Site) error { return nil }
