// Package stdio is the scripted fake MCP server that talks over its standard streams. Healthy it behaves as go-sdk's own server
// does, in both eras (a differential test compares them); a script makes it die, stall, lie and litter on cue.
//
// The way of a message: input reads a line -> serve.go journals it and asks the engine -> actions.go does what the rule
// says, or healthy.go answers -> output writes. control.go is the other way in. Everything that differs between systems is in
// files named after them; helpers.go holds the two small processes that outlive a fake, the sleeper and the stdin holder.
//
// It starts in a few milliseconds and must stay so: it imports the standard library, golang.org/x/sys and the packages beside
// it, never go-sdk. A newcomer most often adds an action: a field in package script, then a line in actions.go.
package stdio
