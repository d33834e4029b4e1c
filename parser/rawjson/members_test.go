package rawjson

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

func FuzzEachMember(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"b":[{"c":"]}"},2],"d":"\"\\","e":{},"f":-1.5e+3,"g":null}`, `{}`,
		`{ "a" : [ ] , "b" : { } }`,
		`[1,"2",[3],{"4":5}]`, `[]`, `[ ]`, `{"\"":"\\\""}`, "{\"a\":\t1\r\n}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.TrimSpace(data)
		if !json.Valid(data) || data[0] != '{' && data[0] != '[' {
			return
		}
		if data[0] == '[' {
			var want []json.RawMessage
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			got := slices.Collect(EachElement(data))
			if !slices.EqualFunc(got, want,
				func(g []byte, w json.RawMessage) bool { return bytes.Equal(g, w) }) {
				t.Errorf("elements(%s)\n got %s\nwant %s", data, got, want)
			}
			return
		}
		want := make(map[string]json.RawMessage)
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		got := make(map[string]json.RawMessage)
		for rawKey, value := range EachMember(data) {
			var key string
			if err := json.Unmarshal(rawKey, &key); err != nil {
				t.Fatalf("key %s: %v", rawKey, err)
			}
			got[key] = value
		}
		if !maps.EqualFunc(got, want, func(g, w json.RawMessage) bool { return bytes.Equal(g, w) }) {
			t.Errorf("EachMember(%s)\n got %s\nwant %s", data, got, want)
		}
	})
}
