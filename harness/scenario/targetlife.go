package scenario

import "slices"

// target checks a step on the target's own process, in the order in which one can do such things.
func (v *validator) target(path string, st Step) {
	at := path + ".target"
	if !v.word(at, "word for the target's life", st.Target, targetWords) {
		return
	}
	if st.Expect != "" && (st.Expect != ExpectAny || !slices.Contains(ends, st.Target)) {
		v.add(path+".expect", "beside a target it can only be %s, of a step that ends it", ExpectAny)
	}
	switch {
	case st.Target == TargetRestart:
		v.life = ""
	case v.ended():
		v.add(at, "the target has ended by %s: restart it first", v.life)
	case st.Target == TargetCont && v.life != TargetStop:
		v.add(at, "the target is not stopped here")
	case st.Target == TargetStop && v.life == TargetStop:
		v.add(at, "the target is stopped already")
	case st.Target == TargetClose && v.life == TargetStop, st.Target == TargetTerm && v.life == TargetStop,
		st.Target == TargetHangup && v.life == TargetStop:
		v.add(at, "the target is stopped: only %s or %s can follow", TargetCont, TargetKill)
	case st.Target == TargetCont:
		v.life = ""
	default:
		v.life = st.Target
	}
}

func (v *validator) ended() bool { return slices.Contains(ends, v.life) }

// reachable refuses to ask something of a target that cannot answer.
func (v *validator) reachable(path string, st Step) {
	verb := st.verb()
	switch {
	case verb != "call" && verb != "reconnect" && verb != "list_tools":
	case v.ended():
		v.add(path+"."+verb, "the target has ended by %s: restart it first", v.life)
	case v.life == TargetStop && !st.Async:
		v.add(path+"."+verb, "the target is stopped here: only a call that is async can be made")
	}
}

// before allows a fault before the start of the target only where nothing else comes first.
func (v *validator) before(path string, st Step) {
	if st.Before == "" || !v.word(path+".before", "word for before", st.Before, beforeWords) {
		return
	}
	if v.started {
		v.add(path+".before", "the target has been started by then: put it in front of all other steps")
	}
}
