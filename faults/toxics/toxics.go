// Package toxics holds our own toxics for toxiproxy: faults of the wire that toxiproxy's own set cannot make. One file a toxic.
// It may import toxiproxy and the journal, and knows nothing of fakes, faults or the harness.
//
// A newcomer most often adds a toxic: a type with exported settings and one Pipe method, its name as a constant here, one line in
// Register. Three rules come from toxiproxy's own traps (Shopify/toxiproxy#412):
//
//   - Pipe must answer stub.Interrupt at every point where it waits, also while it waits for stub.Output and after its input has
//     ended. Every command of toxiproxy's API waits for that answer while it holds the proxy's lock.
//   - What Pipe has read but not yet passed on is kept in stub.State, since Pipe is left and entered again at each command.
//   - Settings are decoded into the very value that running Pipes read: guard them with a lock.
package toxics

import "github.com/Shopify/toxiproxy/v2/toxics"

// Vanish is the type name of VanishToxic.
const Vanish = "unwedge_vanish"

// Register makes our toxics known to the toxiproxy server of this process. Call it before the server takes its first proxy:
// toxiproxy sizes its chains by the number of types that are known.
func Register() {
	toxics.Register(Vanish, new(VanishToxic))
}
