package process

import (
	"fmt"
	"strings"
	"testing"

	"textskill/skill/internal/workspace"
)

func TestReadSpecReturnsTheEncodedSpec(t *testing.T) {
	for _, o := range []Spec{
		{Path: "/bin/true", Args: []string{"true"}},
		{Path: "x", Args: []string{"", "a b", "\xff\n"}, Env: []string{"A=", "B=\xfe"}},
		{Path: "x", Args: []string{"x"}, server: true},
		{Path: "x", Args: []string{"x"}, Env: []string{"A=1"}, fence: fence{
			on: true, require: true, network: true, port: 65535, connect: 443, temp: "/t",
			limits: Limits{FileSize: 1, Memory: -1, Processes: 3},
			rules: []fenceRule{{path: "/a b\xff", write: true, id: workspace.FileID{Dev: 1 << 63, Ino: 2}},
				{path: "/c"}},
		}},
	} {
		got, err := readSpec(strings.NewReader(string(o.encode())))
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", o) {
			t.Errorf("%+v became %+v, %v", o, got, err)
		}
	}
	for _, bad := range []string{"", "\x01", "\x04\x00\x00\x00", "\x01\x00\x00\x00\x00",
		"\x05\x00\x00\x00\x09\x00\x00\x00x", "\xff\xff\xff\xff\x00"} {
		if o, err := readSpec(strings.NewReader(bad)); err == nil {
			t.Errorf("%+v was read as %+v", bad, o)
		}
	}
}
