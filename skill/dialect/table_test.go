package dialect

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// TestDialectsAreWhole looks for what every dialect and row needs.
func TestDialectsAreWhole(t *testing.T) {
	for _, d := range All {
		if d.Name == "" || d.Doc == "" || d.fail == nil {
			t.Errorf("dialect %q lacks Name, Doc or fail, which words its errors; see undo.go for a short one", d.Name)
		}
		for _, tool := range d.Tools {
			if tool.run == nil {
				t.Errorf("%s %s lacks the function that carries out calls; see row", d.Name, tool.Name)
			}
		}
	}
}

// TestOf recognizes prompts by their shape alone: a command whatever follows it, an
// envelope, and all others for the dialect that has the fallback.
func TestOf(t *testing.T) {
	for _, tt := range []struct {
		text string
		want *Dialect
	}{
		{"writeFile a.txt {}", Achilles},
		{`{"tool_calls":[]}`, Filesystem},
		{"```json\n[]\n```", Filesystem},
		{"```json\n[]\n```\nthat is all", Achilles},
		{"read(path: 'a.txt')", Achilles},
		{"please make a folder", Achilles},
		{"", Achilles},
	} {
		if got := Of(tt.text); got != tt.want {
			t.Errorf("%q is for %s, want %s (All lists the dialects in the order in which they claim a text)",
				tt.text, got.Name, tt.want.Name)
		}
	}
	for _, d := range All {
		if Named(d.Name) != d {
			t.Errorf("Named(%s) finds another", d.Name)
		}
	}
}

// TestNamesAreDistinct looks for two rows that answer to one name.
func TestNamesAreDistinct(t *testing.T) {
	for _, d := range All {
		rows := map[string]string{}
		for i := range d.Tools {
			tool := &d.Tools[i]
			for _, name := range append([]string{tool.Name}, tool.Aliases...) {
				if other, ok := rows[name]; ok {
					t.Errorf("%s: %s is a name of %s and of %s", d.Name, name, other, tool.Name)
				}
				rows[name] = tool.Name
				if got := d.Lookup(name); got != tool {
					t.Errorf("%s: Lookup(%s) finds %v", d.Name, name, got)
				}
			}
			args := map[string]bool{}
			for _, p := range tool.Params() {
				for _, name := range p.names() {
					if args[name] {
						t.Errorf("%s %s: two arguments are called %s", d.Name, tool.Name, name)
					}
					args[name] = true
				}
			}
		}
		if got := d.Lookup("no such tool"); got != nil {
			t.Errorf("%s: Lookup of what is no name finds %s", d.Name, got.Name)
		}
	}
}

// TestNamesAreWrittenOnce looks for the names of the tools in the sources: one
// that stands outside its row would have to be changed twice.
func TestNamesAreWrittenOnce(t *testing.T) {
	written := map[string][]string{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				for _, word := range strings.FieldsFunc(text,
					func(r rune) bool { return r != '_' && (r < 'A' || r > 'z') }) {
					written[word] = append(written[word], fset.Position(lit.Pos()).String())
				}
			}
			return true
		})
	}
	example := map[string]int{
		"achilles writeFile":      2, // how a command looks: in the dialect's Doc and in a hint
		"perstack deleteFile":     1, // in the original's words
		"perstack appendTextFile": 1, // what to do with a text that is too long
	}
	for _, d := range All {
		if d == Native { // the words of vendors name their tools, and are English words besides
			continue
		}
		others := func(at string) bool { // the same name may be another dialect's, too
			return slices.ContainsFunc(All,
				func(o *Dialect) bool { return o != d && strings.HasPrefix(at, o.Name) })
		}
		for _, tool := range d.Tools {
			for _, name := range append([]string{tool.Name}, tool.Aliases...) {
				if name != strings.ToLower(name) || strings.Contains(name, "_") {
					at := slices.DeleteFunc(slices.Clone(written[name]), others)
					if len(at) != 1+example[d.Name+" "+name] {
						t.Errorf("%s is written at %s", name, strings.Join(at, " and "))
					}
				}
			}
		}
	}
}

// TestSchemas compiles the schema of every row and tries it on arguments.
func TestSchemas(t *testing.T) {
	samples := map[string]any{
		"string": "x", "integer": 1.0, "number": 1.5, "boolean": true,
		"array": []any{}, "array of integer": []any{1.0}, "object": map[string]any{},
		"array of string": []any{"x"}, "array of number": []any{1.5},
		"array of object":  []any{map[string]any{"old_text": "x", "new_text": "y"}},
		"object of string": map[string]any{"a": "x"},
	}
	for _, d := range All {
		for _, tool := range d.Tools {
			var schema jsonschema.Schema
			if err := json.Unmarshal(tool.Schema(), &schema); err != nil {
				t.Fatalf("%s: %v in %s", tool.Name, err, tool.Schema())
			}
			resolved, err := schema.Resolve(nil)
			if err != nil {
				t.Fatalf("%s: %v", tool.Name, err)
			}
			full, needed := map[string]any{}, map[string]any{}
			for _, p := range tool.Params() {
				if p.Hidden { // the schema leaves it out
					continue
				}
				full[p.Name] = samples[p.Type]
				if p.Of != "" {
					full[p.Name] = samples[p.Type+" of "+p.Of]
				}
				if p.Enum != nil {
					full[p.Name] = p.Enum[0]
				}
				if p.Required {
					needed[p.Name] = full[p.Name]
				}
				if p.Doc == "" || schema.Properties[p.Name].Description != p.Doc {
					t.Errorf("%s: %s is described as %q", tool.Name, p.Name,
						schema.Properties[p.Name].Description)
				}
			}
			for _, args := range []map[string]any{full, needed} {
				if err := resolved.Validate(args); err != nil {
					t.Errorf("%s: %v are refused: %v", tool.Name, args, err)
				}
			}
			for name := range needed {
				lacking := with(needed, name, nil)
				if resolved.Validate(lacking) == nil {
					t.Errorf("%s: %v pass without %s", tool.Name, lacking, name)
				}
				for kind, other := range map[string]any{"list": []any{1.5, true},
					"object": map[string]any{"a": 1.5}} {
					if resolved.Validate(with(needed, name, other)) == nil {
						t.Errorf("%s: %s may be any %s", tool.Name, name, kind)
					}
				}
			}
			if passes := resolved.Validate(with(needed, "unheard-of", "x")) == nil; passes != tool.More {
				t.Errorf("%s: that an unknown argument passes is %t", tool.Name, passes)
			}
			if tool.Doc == "" || !strings.HasSuffix(tool.Doc, ".") {
				t.Errorf("%s is described as %q", tool.Name, tool.Doc)
			}
		}
	}
}

// with returns the arguments with one set, or taken out where it is nil.
func with(args map[string]any, name string, value any) map[string]any {
	changed := map[string]any{}
	for k, v := range args {
		changed[k] = v
	}
	if changed[name] = value; value == nil {
		delete(changed, name)
	}
	return changed
}

// TestEffects lists the tools of each dialect by what a call may do at most: read, add, or destroy. What
// reads is not said to change anything, and what replaces or removes is.
func TestEffects(t *testing.T) {
	want := map[*Dialect][Destroys + 1]string{
		Achilles: {"readFile listDirectory fileExists", "appendFile createDirectory",
			"writeFile deleteFile copyFile moveFile"},
		Filesystem: {"read_file list_directory directory_tree file_info search_files file_exists",
			"append_file create_directory", "write_file edit_file move_file copy_file delete_file"},
		Perstack: {"attemptCompletion healthCheck readTextFile readImageFile readPdfFile getFileInfo listDirectory",
			"todo appendTextFile createDirectory",
			"clearTodo exec writeTextFile editTextFile moveFile deleteFile deleteDirectory"},
		Stack: {"read search grep git_status git_log git_diff web_search fetch check_url memory_recall memory_list " +
			"context_load project_scan list_tasks", "git_commit git_push memory_save create_task create_plan",
			"write edit copy move delete git_pull git_branch run test lint format typecheck server install " +
				"download screenshot update_task delete_task execute_plan"},
		Workspace: {"read grep glob list history fetch", "",
			"write edit replace patch move copy delete run server undo restore"},
		Native: {"view read glob grep read_file list_dir", "create",
			"str_replace_based_edit_tool str_replace_editor memory exec_command write_stdin bash shell_call " +
				"local_shell_call shell shell_command write edit apply_patch apply_patch_call file_create edit_file_by_lines"},
		Undo: {"history diff", "", "undo restore"},
	}
	for _, d := range All {
		var got [Destroys + 1][]string
		for _, tool := range d.Tools {
			got[tool.Effect] = append(got[tool.Effect], tool.Name)
		}
		for effect, names := range got {
			if got := strings.Join(names, " "); got != want[d][effect] {
				t.Errorf("%s has with effect %d\n     %s\nwant %s", d.Name, effect, got, want[d][effect])
			}
		}
	}
}

// TestPathsAreMarked looks for arguments that name a file or folder by what is said
// of them: the tests of confinement go by the mark.
func TestPathsAreMarked(t *testing.T) {
	spoken := regexp.MustCompile(`(?i)path|folder|file|director|destination|source|\bsrc\b|\bdst\b|cwd|repo\b`)
	other := map[string]bool{"patch patch": true, "grep glob": true, "glob pattern": true,
		"replace glob": true, "edit_file old_text": true, "search_files pattern": true,
		"search pattern": true, "test pattern": true, "grep file_pattern": true}
	for _, d := range All {
		for _, tool := range d.Tools {
			for _, p := range tool.Params() {
				texts := p.Type == "string" || p.Type == "array"
				if says := texts && spoken.MatchString(p.Name+" "+p.Doc); says != p.Path &&
					!(says && (other[tool.Name+" "+p.Name] || p.Name == "file_text")) {
					t.Errorf("%s %s %s: its mark as a path is %t: %s", d.Name, tool.Name, p.Name,
						p.Path, p.Doc)
				}
			}
		}
	}
}

// TestDecoded holds our decoder to encoding/json.
func TestDecoded(t *testing.T) {
	for _, raw := range []string{
		`{}`, `{"a":"x","b":1.50,"c":-0,"d":1e400,"e":true,"f":false,"g":null}`,
		`{ "a\n" : "\"\\\/\b\f\r\t ä \u2028" }`, `{"a":"\"\\\/\b\f\n\r\t ä😀"}`, `{"a":1,"a":1}`,
		`{"a":[ 1, {"b":[[[{"c":null}]],true]}, [] ],"o":{"p":{"q":{"r":1.0}}}}`,
		"{\"a\":\"\xff\"}", `{"a":"\ud800"}`,
	} {
		var want values
		d := json.NewDecoder(strings.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got, err := members([]byte(raw), false, false); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %#v, %v\nwant %#v", raw, got, err, want)
		}
	}
	for _, raw := range []string{`{"a":1} x`, `{"a":1,"a":2}`, `{"a":01}`, `[]`, `null`, ``, "{\"a\":\"\t\"}"} {
		if got, err := members([]byte(raw), false, false); err == nil {
			t.Errorf("%s is read as %v", raw, got)
		}
	}
}
