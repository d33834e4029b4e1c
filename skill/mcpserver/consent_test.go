package mcpserver

import (
	"fmt"
	"strings"
	"testing"

	"textskill/skill/dialect"
)

// asking serves a client whose user is asked about every change.
func asking(t *testing.T, version, capabilities string) *lineClient {
	s, _ := newServer(t, map[string]string{"a": "alpha"}, func(cfg *Config) {
		cfg.Check = func(tool string, e dialect.Effect) (string, bool) { return "nobody can be asked", e != dialect.Reads }
	})
	c := connect(t, s)
	c.greet(version, capabilities)
	return c
}

func TestUserAllowsAToolForGood(t *testing.T) {
	c := asking(t, "2025-06-18", `{"elicitation":{}}`)
	write := func(id int) {
		c.send(call(id, "write_file", `{"path":"b","content":"`+strings.Repeat("é", 5000)+`"}`))
	}
	write(1)
	q := c.parse(c.next())
	if q.Method != "elicitation/create" ||
		!strings.Contains(string(q.Params), `write_file {\"path\":\"b\",\"content\":\"ééé`) ||
		len(q.Params) > 3000 {
		t.Fatalf("got %s %s", q.Method, q.Params)
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"always":true}}}`, q.ID))
	for id := 1; id < 4; id++ {
		if a := c.parse(c.next()); a.Method != "" || a.Result.IsError {
			t.Errorf("got %+v", a)
		}
		write(id + 1)
	}
	c.next()
	c.send(call(9, "delete_file", `{"path":"b"}`))
	if q := c.parse(c.next()); q.Method != "elicitation/create" {
		t.Errorf("another tool is not asked about: %+v", q)
	}
	if err := c.end(); err != nil { // while it is asked
		t.Error(err)
	}
	a := c.parse(c.next())
	if a.Method == "notifications/cancelled" { // of the question
		a = c.parse(c.next())
	}
	if !a.Result.IsError || !strings.Contains(a.text(), "could not be asked") {
		t.Errorf("got %+v", a)
	}
}
