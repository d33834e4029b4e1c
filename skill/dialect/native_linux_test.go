package dialect

import (
	"strings"
	"testing"
)

// nativeHostile are calls of tools of each kind, in which $P stands for a path.
var nativeHostile = []struct{ tool, arguments string }{
	{editorName, `{"command":"view","path":$P}`},
	{editorName, `{"command":"create","path":$P,"file_text":"x"}`},
	{editorName, `{"command":"str_replace","path":$P,"old_str":"text","new_str":"x"}`},
	{oldEditorName, `{"command":"insert","path":$P,"insert_line":0,"insert_text":"x"}`},
	{"memory", `{"command":"create","path":$P,"file_text":"x"}`},
	{"memory", `{"command":"rename","old_path":"/memories/x.md","new_path":$P}`},
	{"read", `{"file_path":$P}`},
	{"write", `{"file_path":$P,"content":"x"}`},
	{"edit", `{"file_path":$P,"old_string":"text","new_string":"x","replace_all":true}`},
	{"glob", `{"pattern":"*","path":$P}`},
	{"grep", `{"pattern":"SECRET","path":$P}`},
	{"apply_patch_call", `{"type":"create_file","path":$P,"diff":"+x"}`},
	{"apply_patch_call", `{"type":"update_file","path":"a.txt","diff":"@@\n+x\n","moveTo":$P}`},
	{"apply_patch_call", `{"type":"delete_file","path":$P}`},
	{"read_file", `{"path":$P}`},
	{"list_dir", `{"path":$P}`},
	{"edit_file_by_lines", `{"path":$P,"start_line":1,"end_line":1,"new_content":"x"}`},
}

// TestNativeHostile calls a tool of each kind with every hostile name. Files outside stay as they
// are and are not named.
func TestNativeHostile(t *testing.T) {
	r := newHostileRun(t)
	for _, tt := range nativeHostile {
		tool := Native.Lookup(tt.tool)
		names := hostilePaths
		if tool.Name == "memory" {
			names = append([]string{"/memories/../../outside/x", "/memories/..", "/memories/./x",
				"/memories//x", "/memories/x\x00"}, hostileFew...)
		}
		for _, name := range names {
			if r.spoiled {
				r.fresh()
			}
			name = strings.ReplaceAll(name, "$BASE", r.base)
			p := &Param{Name: "path", Path: true}
			r.call(hostileCall{Native, tool, p, name,
				[]byte(strings.ReplaceAll(tt.arguments, "$P", string(quoted(name))))})
		}
		r.unmoved(tool.Name)
	}
}
