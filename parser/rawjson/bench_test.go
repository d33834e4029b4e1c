package rawjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"textskill/parser/rawjson"
)

// BenchmarkDecode reads one envelope with 64 KB of text, as strict JSON and
// with repairs, beside encoding/json on the strict one.
func BenchmarkDecode(b *testing.B) {
	body := strings.Repeat(`one more line with a \"quote\"\n`, 2048)
	clean := `{"operation":"writeFile","path":"a.txt","content":"` + body + `","destination":null}`
	dirty := "Sure:\n```json\n{operation:'writeFile',\"path\":'a.txt',\"content\":\"" +
		strings.ReplaceAll(body, `\n`, "\n") + "\",\"destination\":None,}\n```"
	run := func(name, text string, decode func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				decode()
			}
		})
	}
	run("strict", clean, func() { rawjson.Decode(clean) })
	run("repaired", dirty, func() { rawjson.Decode(dirty, "operation") })
	var raw json.RawMessage
	run("reference=encoding/json", clean, func() { json.Unmarshal([]byte(clean), &raw) })
}
