package faults

// Catalogue returns all faults in the order of their groups and classes. The slice is the caller's.
func Catalogue() []Fault { return nil }

// Kill is the fault behind a scenario's short "kill: server".
const Kill = "child-dies-idle/sigkill"

// ByID finds a fault. ok is false for an unknown id; Suggest then names the nearest one.
func ByID(id string) (f Fault, ok bool) {
	for _, f := range Catalogue() {
		if f.What().ID == id {
			return f, true
		}
	}
	return nil, false
}
