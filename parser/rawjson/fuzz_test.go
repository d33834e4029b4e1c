package rawjson_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"textskill/parser/rawjson"
)

// units are the pieces of hostile texts.
var units = []string{
	"[", "{", "]", "[]", "{}", "[{", `{"a":`, `{"a":[`, `["`, `{"`, `"`, `'`, "“", "‘", `\`, `"\`,
	`\"`, `['\`,
	"[x", "[x]", "{x}", "[1", "[1]", "[1,", "[1 ", "[,", "{,", ",", ":", "[None", "[tru", "-", "[-",
	"1", "1e", "é", "\xff", "[\"\xff",
	"<", "<think>", "</think>", "<think></think>", "[</think>", "```", "```\n", "```\n{", " ", "\n",
	"\u00a0", "\x00", "\t\"\n",
}

// oneWayIn is every string that a decoder may produce from text: text itself with
// each escape replaced by what it stands for.
func oneWayIn(text string) string {
	return escapes.ReplaceAllStringFunc(text, func(run string) string {
		if run == `\'` {
			return "'"
		}
		var s string
		if json.Unmarshal([]byte(`"`+run+`"`), &s) != nil {
			return run
		}
		return s
	})
}

var escapes = regexp.MustCompile(`(?:\\u[0-9a-fA-F]{4})+|\\["\\/bfnrt']`)

// checkLossFree wants every string and number of value to stand in text.
func checkLossFree(t *testing.T, text string, value json.RawMessage) {
	t.Helper()
	unescaped := oneWayIn(text)
	dec := json.NewDecoder(strings.NewReader(string(value)))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return
		}
		switch v := token.(type) {
		case string:
			if !strings.Contains(unescaped, v) {
				t.Errorf("Decode(%q) = %s, where %q is not in the text", text, value, v)
			}
		case json.Number:
			if !strings.Contains(text, v.String()) {
				t.Errorf("Decode(%q) = %s, where %s is not in the text", text, value, v)
			}
		}
	}
}

// strict reports text that is JSON as it stands, and not too deep in any case.
func strict(text string) bool {
	return json.Valid([]byte(text)) && utf8.ValidString(text) &&
		strings.Count(text, "[")+strings.Count(text, "{") <= 512
}

func FuzzDecode(f *testing.F) {
	for _, text := range append(units,
		`{"a":[1,-2.5e+3,"\u00e9\ud83d\ude00\ud800",null,true]}`, `{'a': 'it\'s "x"', operation: None,}`,
		"{“a”: ‘b’}",
		"Sure:\n```json\n{\"a\":\"x\ny\"}\n```\nBye [1 2].", "<think>{</think>{\"a\":\"</think>\"}",
		`"{\"a\":1}"`, "\ufeff[True]", "{\"a\":1}{\"a\":1}",
	) {
		f.Add(text, len(text)/2)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		value, repairs, err := rawjson.Decode(text, "operation", "a")
		trimmed := strings.Trim(text, " \t\r\n")
		if strict(text) && (err != nil || repairs != nil || string(value) != trimmed) {
			t.Fatalf("Decode(%q) = %s %q %v, want it as it was", text, value, repairs, err)
		}
		if strict(text) && strings.ContainsAny(trimmed[:1], "[{") && cut > 0 && cut < len(trimmed) {
			if part, _, err := rawjson.Decode(trimmed[:cut]); err == nil {
				t.Errorf("Decode(%q) = %s, though its end is missing", trimmed[:cut], part)
			}
		}
		if err != nil {
			return
		}
		if repairs == nil && string(value) != trimmed {
			t.Errorf("Decode(%q) = %s without a repair", text, value)
		}
		again, repairs, err := rawjson.Decode(string(value))
		if !json.Valid(value) || string(again) != string(value) || repairs != nil || err != nil {
			t.Errorf("Decode(%q) = %s, and of that %s %q %v", text, value, again, repairs, err)
		}
		checkLossFree(t, text, value)
	})
}
