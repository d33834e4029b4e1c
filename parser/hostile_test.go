package parser_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// hostile is what repeated many times might cost more than its length.
var hostile = []string{
	"[", "{", "]", "[]", "{}", "[{", `{"a":`, `{"a":[`, `["`, `{"`, `"`, `'`, "“", "‘", `\`, `"\`,
	`\"`, `['\`,
	"[x", "[x]", "{x}", "[1", "[1]", "[1,", "[1 ", "[,", "{,", ",", ":", "[None", "[tru", "-", "[-",
	"1", "1e", "é", "\xff", "[\"\xff",
	"<", "<think>", "</think>", "<think></think>", "[</think>", "```", "```\n", "```\n{", " ", "\n",
	"\u00a0", "a ", "a:\n",
	`{"tool_calls":[`, `{"tool_calls":[]}`, `{"final":"x"}`, `{"final":"x","final":`, "\"a b", "'a b' ",
	"\x00", "\t\"\n",
}

// hostileCalls is what repeated many times might cost a reader of calls more than
// its length.
var hostileCalls = []string{
	"read(", "read(path: 'a')", "read()", "read(path:", "read(a:[", "read(a:((", "read(a:{b:", "read('",
	`read('\`, "read(\"\"\"", "\nread(…)", "\nread(x,", "- read(",
	"<tool_call>", "<tool_call>{", "<tool_call><name>", `{"tool":`, `{"tool":"a"}`, "\n{\"a", "\n[1\n",
	"\n[\"", "x(y: ", "` ", "> ", "a ` read(",
}

// TestHostile gives every parser of JSON and of words long repetitions.
func TestHostile(t *testing.T) {
	for _, unit := range hostile {
		checkTime(t, readAll, func(n int) []string {
			s := strings.Repeat(unit, n/len(unit))
			quoted, _ := json.Marshal(strings.ToValidUTF8(s, "?"))
			return []string{
				s, `{"a":"` + s, "[" + s + "]", "copyFile '" + s, "copyFile a destination: '" + s,
				`{"tool_calls":[` + s + `]}`, oneCall(string(quoted)), "```json\n" + s + "\n```",
				`{"tool_calls":[0` + strings.Repeat(","+unit, n/(len(unit)+1)) + "]}",
			}
		})
	}
}

// TestHostileCalls gives them to the reader of calls.
func TestHostileCalls(t *testing.T) {
	readCalls := func(text string) { parser.Calls(text, offered) }
	for _, unit := range append(hostileCalls, hostile...) {
		checkTime(t, readCalls, func(n int) []string {
			s := strings.Repeat(unit, n/len(unit))
			return []string{s, "read(a: " + s, `[` + s}
		})
	}
}

// checkTime wants the time for a text four times as long to be about four times as
// much. The best of up to ten tries counts.
func checkTime(t *testing.T, read func(text string), wholes func(n int) []string) {
	t.Helper()
	const size = 100 << 10
	duration := func(times int, text string) time.Duration {
		start := cpuTime()
		for range times {
			read(text)
		}
		return cpuTime() - start
	}
	tooLong := func(short, long time.Duration) bool { return long > 5*short/2 && long > 50*time.Millisecond }
	small, large := wholes(size/4), wholes(size)
	for i := range small {
		short, long := 4*duration(1, small[i]), duration(1, large[i])
		for range 9 {
			if tooLong(short, long) {
				short, long = min(short, duration(4, small[i])), min(long, duration(1, large[i]))
			}
		}
		if tooLong(short, long) {
			t.Errorf("%.40q…: %v for four times %d bytes, %v for %d", small[i], short, len(small[i]),
				long, len(large[i]))
		}
	}
}

func readAll(text string) {
	rawjson.Decode(text, "a", "x")
	parser.ToolCalls(text)
	parser.IsEnvelope(text)
	parser.Text(text).Content()
	parser.Text(text).Destination()
}

// strict reports text that is JSON as it stands, and not too deep in any case.
func strict(text string) bool {
	return json.Valid([]byte(text)) && utf8.ValidString(text) &&
		strings.Count(text, "[")+strings.Count(text, "{") <= 512
}

func FuzzToolCalls(f *testing.F) {
	f.Add(`{"path":"a.txt"}`)
	f.Add(oneCall(`"{'k':1,}"`))
	f.Add(`{"final":"x"}` + oneCall(`"{}"`))
	f.Add(`{tool_calls:[{"type":"function",function:{name:'f',arguments:'{"a":1}'}},5,],"working_dir":"d"}`)
	for _, unit := range hostile {
		f.Add(unit)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parser.ToolCalls(text)
		if err != nil && (e.Calls != nil || e.HasFinal) ||
			err == nil && e.HasFinal == (len(e.Calls) > 0) {
			t.Errorf("ToolCalls(%q) = %+v %v", text, e, err)
		}
		for _, call := range e.Calls {
			if call.Err == nil && (!json.Valid(call.Arguments) || call.Arguments[0] != '{' ||
				call.Name == "") {
				t.Errorf("ToolCalls(%q): call %q has arguments %s", text, call.Name, call.Arguments)
			}
			if call.Err != nil && call.Arguments != nil {
				t.Errorf("ToolCalls(%q): arguments %s beside %v", text, call.Arguments, call.Err)
			}
		}
		trimmed := strings.Trim(text, " \t\r\n")
		if strings.HasPrefix(trimmed, "{") && !parser.IsEnvelope(text) {
			t.Errorf("IsEnvelope(%q) is false", text)
		}
		if !strict(text) || trimmed[0] != '{' {
			return
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		e, err = parser.ToolCalls(oneCall(string(quoted)))
		if err != nil || e.Calls[0].Err != nil || string(e.Calls[0].Arguments) != trimmed ||
			e.Repairs != nil {
			t.Errorf("arguments %q arrived as %+v %v", text, e, err)
		}
	})
}
