package tools

import (
	"encoding/json"
	"strings"
)

var (
	yes, no = true, false

	readOnly = Annotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no}
	// effectful is what a careful client must not run twice.
	effectful = Annotations{DestructiveHint: &yes, OpenWorldHint: &no}
	harmless  = Annotations{DestructiveHint: &no, OpenWorldHint: &no}
)

// catalogue is the list of default tools. echo stays first: spare tools are made from it.
var catalogue = []Definition{
	{"echo", "Answers with the nonce, then the text.", schema("", "nonce:string", "text:string"), readOnly},
	{"add", "Answers with a+b.", schema("a,b", "a:number", "b:number", "nonce:string"), readOnly},
	{"sleep", "Waits ms milliseconds, then answers with the nonce.", schema("ms", "ms:integer", "nonce:string"), harmless},
	{"fail", "Answers with a tool error that names the nonce.", schema("", "nonce:string"), harmless},
	{"big", "Answers with that many bytes, the nonce first.", schema("bytes", "bytes:integer", "nonce:string"), readOnly},
	{"effect", "Has an effect that must not happen twice, then answers with the nonce.",
		schema("nonce", "nonce:string"), effectful},
	{"progress", "Reports progress n times, then answers with the nonce.",
		schema("n", "n:integer", "every_ms:integer", "nonce:string"), harmless},
	{"env", "Says whether an environment variable is set.", schema("name", "name:string", "nonce:string"), readOnly},
}

// schema builds a JSON Schema object from "name:type" pairs and a comma list of required names.
func schema(required string, props ...string) json.RawMessage {
	type property struct {
		Type string `json:"type"`
	}
	s := struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required,omitempty"`
	}{Type: "object", Properties: map[string]property{}}
	for _, p := range props {
		name, typ, _ := strings.Cut(p, ":")
		s.Properties[name] = property{typ}
	}
	for required != "" {
		var name string
		name, required, _ = strings.Cut(required, ",")
		s.Required = append(s.Required, name)
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings only: cannot happen
	}
	return b
}
