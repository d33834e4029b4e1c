//go:build unix

package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"textskill/skill/internal/process"
	"textskill/testdata/needs"
)

// stubs puts programs that print their arguments first in PATH, before the system's own
// directories.
func stubs(t *testing.T, names ...string) string {
	t.Helper()
	needs.Shell(t)
	dir := t.TempDir()
	for _, name := range names {
		writeFile(t, dir+"/"+name,
			"#!/bin/sh\nprintf %s \"${0##*/}\"; printf ' %s' \"$@\"\necho\nenv | sort >&2\n", 0o755)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return dir
}

// layout creates files from entries "name=content" or "name".
func layout(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		name, content, _ := strings.Cut(f, "=")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			os.MkdirAll(path, 0o755)
			continue
		}
		writeFile(t, path, content, 0o644)
	}
}

func task(t *testing.T, x *Executor, a Toolchain) (ToolRun, error) {
	t.Helper()
	r, err := x.Execute(t.Context(), &Session{}, a)
	if err != nil {
		return ToolRun{}, err
	}
	return r.(ToolRun), nil
}

var everyRunner = []string{"go", "gofmt", "golangci-lint", "cargo", "npm", "pnpm", "yarn", "bun", "eslint",
	"prettier", "tsc",
	"pytest", "ruff", "pylint", "black", "mypy", "pyright", "pip", "poetry", "uv", "make", "node", "vitest"}

// TestToolchainsAreFound maps the files of a project to the expected command. After @
// follows its directory, if that is not the workspace.
func TestToolchainsAreFound(t *testing.T) {
	goFiles := []string{"go.mod=module m", "sub/a.go", "sub/a_test.go", "deep/go.mod=module d",
		"deep/er/x.go"}
	scripts := `package.json={"scripts":{"test":"jest","lint":"eslint .","format":"prettier -w .","typecheck":"tsc -b"}}`
	tests := []struct {
		files []string
		task  Toolchain
		want  string
	}{
		{nil, Toolchain{Do: Test}, "pytest . -v"},
		{nil, Toolchain{Do: Test, Path: ".", Pattern: "test*.py", Brief: true},
			"pytest . -o python_files=test*.py"},
		{[]string{"tests/test_a.py"}, Toolchain{Do: Test, Path: "tests/test_a.py::TestA::test_b", Name: "b"},
			"pytest tests/test_a.py::TestA::test_b -k b -v"},
		{[]string{"p/pyproject.toml=[tool.pytest.ini_options]\npython_files = 'x'", "p/t/a.py"},
			Toolchain{Do: Test, Path: "p/t", Pattern: "test*.py"}, "pytest t -v @p"},
		{[]string{"p/pyproject.toml=python_files", "p/t/a.py"},
			Toolchain{Do: Test, Path: "p/t", Pattern: "a*.py"}, "pytest t -o python_files=a*.py -v @p"},
		{nil, Toolchain{Do: Lint}, "ruff check ."},
		{nil, Toolchain{Do: Lint, Path: "--fix"}, "ruff check ./--fix"},
		{nil, Toolchain{Do: Lint, Path: "src/", Runner: "pylint"}, "pylint src/"},
		{nil, Toolchain{Do: Lint, Runner: "mypy"}, "mypy ."},
		{nil, Toolchain{Do: Format, Check: true}, "ruff format --check ."},
		{nil, Toolchain{Do: Format, Runner: "black", Check: true}, "black --check ."},
		{nil, Toolchain{Do: Typecheck, Path: "a.py"}, "mypy a.py --ignore-missing-imports"},
		{[]string{"pyrightconfig.json", "setup.py"}, Toolchain{Do: Typecheck}, "pyright ."},
		{nil, Toolchain{Do: Install}, "pip install -r requirements.txt"},
		{[]string{"p/requirements.txt", "p/q/"}, Toolchain{Do: Install, Path: "p/q"},
			"pip install -r requirements.txt @p"},
		{[]string{"uv.lock", "pyproject.toml"}, Toolchain{Do: Install},
			"uv sync --frozen --no-install-project"},
		{[]string{"uv.lock", "pyproject.toml"}, Toolchain{Do: Install, Scripts: true}, "uv sync --frozen"},
		{[]string{"pyproject.toml=[tool.poetry]"}, Toolchain{Do: Install}, "poetry install"},
		{[]string{"pyproject.toml"}, Toolchain{Do: Install, Scripts: true}, "pip install -e ."},

		{goFiles, Toolchain{Do: Test}, "go test -v ./..."},
		{goFiles, Toolchain{Do: Test, Path: "sub", Name: "TestX"}, "go test -v -run TestX ./sub/..."},
		{goFiles, Toolchain{Do: Test, Path: "sub/a_test.go"}, "go test -v ./sub"},
		{append(goFiles, "top.go"), Toolchain{Do: Lint, Path: "top.go"}, "go vet ."},
		{goFiles, Toolchain{Do: Test, Path: "deep/er"}, "go test -v ./er/... @deep"},
		{goFiles, Toolchain{Do: Lint}, "go vet ./..."},
		{append(goFiles, ".golangci.yml"), Toolchain{Do: Lint, Path: "sub"}, "golangci-lint run ./sub/..."},
		{goFiles, Toolchain{Do: Lint, Runner: "ruff"}, "ruff check ."},
		{goFiles, Toolchain{Do: Format, Path: "sub/a.go"}, "gofmt -l -w sub/a.go"},
		{goFiles, Toolchain{Do: Typecheck, Path: "deep"}, "go build -o /dev/null ./... @deep"},
		{goFiles, Toolchain{Do: Install}, "go mod download"},

		{[]string{scripts}, Toolchain{Do: Test}, "npm run test"},
		{[]string{scripts, "src/a.test.js"}, Toolchain{Do: Test, Path: "src/a.test.js", Name: "adds"},
			"npm run test -- src/a.test.js -t adds"},
		{[]string{scripts, "pnpm-lock.yaml", "src/"}, Toolchain{Do: Test, Path: "src"}, "pnpm run test src"},
		{[]string{scripts}, Toolchain{Do: Lint}, "npm run lint"},
		{[]string{scripts}, Toolchain{Do: Format}, "npm run format"},
		{[]string{scripts}, Toolchain{Do: Format, Check: true}, "prettier --check ."},
		{[]string{scripts}, Toolchain{Do: Typecheck}, "npm run typecheck"},
		{[]string{"package.json={}", "tsconfig.json"}, Toolchain{Do: Typecheck}, "tsc --noEmit"},
		{[]string{"package.json={}", "-x.js"}, Toolchain{Do: Lint, Path: "-x.js"}, "eslint ./-x.js"},
		{[]string{`package.json={"scripts":{"test":"echo \"Error: no test specified\" && exit 1"},"devDependencies":{"vitest":"1"}}`}, Toolchain{Do: Test, Name: "sum"}, "vitest run -t sum"},
		{[]string{`package.json={"scripts":{"test":"mocha"}}`}, Toolchain{Do: Test, Name: "sum"},
			"npm run test -- --grep sum"},
		{[]string{"package.json={}", "sum.test.js"}, Toolchain{Do: Test}, "node --test"},
		{[]string{"docs/x.md", "app/go.mod"}, Toolchain{Do: Lint}, "go vet ./... @app"},
		{[]string{"package.json={}", "a.py"}, Toolchain{Do: Format, Path: "a.py"}, "ruff format a.py"},
		{[]string{"package.json={}"}, Toolchain{Do: Install}, "npm install"},
		{[]string{"package.json={}", "package-lock.json"}, Toolchain{Do: Install}, "npm ci"},
		{[]string{"package.json={}", "pnpm-lock.yaml"}, Toolchain{Do: Install},
			"pnpm install --frozen-lockfile"},
		{[]string{"package.json={}", "yarn.lock=# yarn lockfile v1"}, Toolchain{Do: Install},
			"yarn install --frozen-lockfile --ignore-scripts"},
		{[]string{"package.json={}", "yarn.lock=__metadata:"}, Toolchain{Do: Install},
			"yarn install --immutable"},
		{[]string{"package.json={}", "bun.lock"}, Toolchain{Do: Install},
			"bun install --frozen-lockfile --ignore-scripts"},
		{[]string{`package.json={"packageManager":"pnpm@9.0.0"}`, "yarn.lock"},
			Toolchain{Do: Install, Scripts: true}, "pnpm install"},
		{[]string{"package.json={}", "pnpm-lock.yaml"}, Toolchain{Do: Install, Runner: "npm"}, "npm install"},
		{[]string{"package.json={}", "requirements.txt"}, Toolchain{Do: Install, Runner: "npm"},
			"npm install"},
		{[]string{"package.json={}", "requirements.txt"}, Toolchain{Do: Install},
			"pip install -r requirements.txt"},

		{[]string{"Cargo.toml", "Cargo.lock"}, Toolchain{Do: Install}, "cargo fetch --locked"},
		{[]string{"Cargo.toml", "src/main.rs"}, Toolchain{Do: Lint, Path: "src/main.rs"}, "cargo clippy"},
		{[]string{"Makefile=all:\n\ntest: all\n\tx\n"}, Toolchain{Do: Test}, "make test"},
		{[]string{"Makefile=test:=x\nall:\n"}, Toolchain{Do: Test}, "pytest . -v"},
		{[]string{"Makefile=test:\n", "go.mod"}, Toolchain{Do: Test}, "go test -v ./..."},
	}
	stubs(t, everyRunner...)
	for _, tt := range tests {
		x := newExecutor(t, Config{Helper: self(t), Network: true})
		layout(t, x.Dir(), tt.files...)
		got, err := task(t, x, tt.task)
		said := strings.TrimSuffix(string(got.Stdout), "\n")
		if slices.Contains(got.Line, "-json") { // not JSON, so it is shown
			said = strings.TrimSpace(said)
		}
		if dir, _ := filepath.Rel(x.Dir(), got.Dir); dir != "." {
			said += " @" + dir
		}
		if err != nil || said != tt.want ||
			!strings.HasPrefix(strings.Join(got.Line, " ")+" ", got.Runner+" ") {
			t.Errorf("%q %+v\n got %s, %v; %q runs %q\nwant %s", tt.files, tt.task, said, err, got.Runner,
				got.Line, tt.want)
		}
	}
}

// Without permission, packages run no programs, nothing is installed outside a virtual
// environment, and nothing uses the network.
func TestToolchainEnvironment(t *testing.T) {
	stubs(t, everyRunner...)
	for _, tt := range []struct {
		files   []string
		task    Toolchain
		network bool
		want    []string
		not     string
	}{
		{nil, Toolchain{Do: Install}, true, []string{"PIP_REQUIRE_VIRTUALENV=1", "PIP_ONLY_BINARY=:all:",
			"PYTHONUTF8=1"}, "PIP_NO_INDEX"},
		{nil, Toolchain{Do: Install, Scripts: true}, true, []string{"PIP_REQUIRE_VIRTUALENV=1"},
			"PIP_ONLY_BINARY"},
		{[]string{"package.json={}"}, Toolchain{Do: Install}, true,
			[]string{"npm_config_ignore_scripts=true", "npm_config_git=git"}, "npm_config_offline"},
		{[]string{"package.json={}"}, Toolchain{Do: Install, Scripts: true}, true, nil,
			"npm_config_ignore_scripts"},
		{[]string{"go.mod"}, Toolchain{Do: Lint}, false, []string{"GOPROXY=off", "CI=1", "NO_COLOR=1"},
			"VIRTUAL_ENV"},
		{[]string{"go.mod"}, Toolchain{Do: Lint}, true, []string{"CI=1"}, "GOPROXY=off"},
	} {
		if name, _, _ := strings.Cut(tt.not, "="); name != "" {
			t.Setenv(name, "") // and so restored
			os.Unsetenv(name)
		}
		x := newExecutor(t, Config{Helper: self(t), Network: tt.network})
		layout(t, x.Dir(), tt.files...)
		got, err := task(t, x, tt.task)
		env := strings.Split(string(got.Stderr), "\n")
		for _, want := range tt.want {
			if !slices.Contains(env, want) {
				t.Errorf("%+v: %s is not set, %v", tt.task, want, err)
			}
		}
		if slices.ContainsFunc(env,
			func(v string) bool { return v == tt.not || strings.HasPrefix(v, tt.not+"=") }) {
			t.Errorf("%+v: %s is set", tt.task, tt.not)
		}
	}
}

func TestToolchainsOwnProgramsComeFirst(t *testing.T) {
	stubs(t, "ruff", "eslint")
	x := newExecutor(t, Config{})
	layout(t, x.Dir(), "p/pyproject.toml", "p/package.json={}", "p/web/package.json={}")
	for _, name := range []string{".venv/bin/ruff", "p/node_modules/.bin/eslint"} {
		layout(t, x.Dir(), name)
		writeFile(t, x.Dir()+"/"+name, "#!/bin/sh\necho own $VIRTUAL_ENV\n", 0o755)
	}
	for path, want := range map[string]string{"p": "own " + x.Dir() + "/.venv\n",
		"p/web": "own " + x.Dir() + "/.venv\n"} {
		if got, err := task(t, x, Toolchain{Do: Lint, Path: path}); err != nil || string(got.Stdout) != want {
			t.Errorf("%s: %s, %v", path, got.Stdout, err)
		}
	}
}

func TestToolchainIsRefused(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	outside := t.TempDir()
	for _, tt := range []struct {
		task Toolchain
		want string // "WS" is the workspace
		is   func(error) bool
	}{
		{Toolchain{Do: Lint}, `cannot run "ruff": PATH has no program of that name`, process.IsSpawnError},
		{Toolchain{Do: Lint, Runner: "pylint"}, `cannot run "pylint": PATH has no program of that name`,
			process.IsSpawnError},
		{Toolchain{Do: Test}, `cannot run "pytest": PATH has no program of that name`, process.IsSpawnError},
		{Toolchain{Do: Lint, Runner: "eslint"}, "eslint is not known to lint; there are ruff, pylint, mypy",
			isUnknown},
		{Toolchain{Do: Format, Runner: "gofmt"}, "gofmt is not known to format; there are ruff, black",
			isUnknown},
		{Toolchain{Do: Install, Runner: "cargo"}, "cargo is not known to install; there are pip, poetry, npm",
			isUnknown},
		{Toolchain{Do: Test, Path: "nope"}, "stat WS/nope: no such file or directory",
			func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		{Toolchain{Do: Install, Path: "f.js"}, "chdir WS/f.js: it is not a directory", nil},
		{Toolchain{Do: Lint, Path: "f.js"},
			"cannot lint f.js: no project of its kind is there or above", nil},
		{Toolchain{Do: Lint, Path: outside}, outside + " is outside the workspace WS", isOutside},
		{Toolchain{Do: Lint, Path: "out/x"}, "WS/out/x is outside the workspace WS", isOutside},
		{Toolchain{Do: Lint, Path: "a\x00"},
			`path holds a NUL byte, which no file name can: "WS/a\x00"`, nil},
		{Toolchain{Do: Install, Path: "built"},
			"without a lockfile or requirements.txt the project itself must be built, which runs its programs; scripts: true allows it", nil},
		{Toolchain{Do: Install, Path: "folder"},
			`WS/folder/requirements.txt may have pip build "./evil", which runs its programs; scripts: true allows it`, nil},
		{Toolchain{Do: Install, Path: "edit"},
			`WS/edit/requirements.txt may have pip build "-e .", which runs its programs; scripts: true allows it`, nil},
		{Toolchain{Do: Install, Path: "address"},
			`WS/address/requirements.txt may have pip build "x @ https://x.example/x.tar.gz", which runs its programs; scripts: true allows it`, nil},
		{Toolchain{Do: Install, Path: "option"},
			`WS/option/requirements.txt may have pip build "--no-binary :all:", which runs its programs; scripts: true allows it`, nil},
		{Toolchain{Do: Install, Path: "nested"},
			`WS/nested/more/dev.txt may have pip build "x.tar.gz", which runs its programs; scripts: true allows it`, nil},
		{Toolchain{Do: Install, Path: "lost"},
			`WS/lost/requirements.txt may have pip build "-r ../../x", which runs its programs; scripts: true allows it`, nil},
		{Toolchain{Do: Install, Path: "ends"},
			`WS/ends/requirements.txt may have pip build "-e .", which runs its programs; scripts: true allows it`, nil},
		{Toolchain{Do: Install, Path: "plain"}, `cannot run "pip": PATH has no program of that name`,
			process.IsSpawnError},
		{Toolchain{Do: Install, Path: "folder", Scripts: true},
			`cannot run "pip": PATH has no program of that name`, process.IsSpawnError},
		{Toolchain{Do: Test, Path: "bare"},
			`package.json in WS/bare has no script for tests; add one, like "scripts": {"test": "node --test"}`, nil},
		{Toolchain{Do: Typecheck, Path: "bare"},
			"package.json in WS/bare has no script typecheck, and there is no tsconfig.json beside it: nothing says how types are checked", nil},
		{Toolchain{Do: Test, Path: "two"},
			"two is in no project, and there are several below it; give one as the path: a, b", nil},
		{Toolchain{Do: Test, Path: "bad"}, "package.json in WS/bad is not a valid JSON object", nil},
	} {
		x := newExecutor(t, Config{Network: true})
		layout(t, x.Dir(), "f.js", "m.py", "built/pyproject.toml",
			"folder/requirements.txt=a==1\n./evil\n", "edit/requirements.txt=-e .",
			"address/requirements.txt=x @ https://x.example/x.tar.gz # c",
			"option/requirements.txt=--no-binary :all:\nx",
			"nested/requirements.txt=-r more/all.txt\n", "nested/more/all.txt=--requirement=dev.txt",
			"nested/more/dev.txt=x.tar.gz", "lost/requirements.txt=-r ../../x",
			"ends/requirements.txt=a==1 ; x\f-\\\r\ne .",
			"plain/requirements.txt=# -e .\n--index-url https://x.example/simple\n-c c.txt\na\nB.c-d[e, f] >= 1.0, != 2 ; python_version < '3'\ng ~= 1 \\\n  --hash=sha256:00 --hash=sha256:01\nh (>1)\ni==1-1 # j/k\n--find-links=x\n", "plain/c.txt=a==1",
			"bad/package.json=[", "bare/package.json={}", "two/a/go.mod", "two/b/Cargo.toml")
		if err := os.Symlink(outside, x.Dir()+"/out"); err != nil {
			t.Fatal(err)
		}
		_, err := task(t, x, tt.task)
		if said := strings.ReplaceAll(fmt.Sprint(err), x.Dir(), "WS"); said != tt.want || tt.is != nil &&
			!tt.is(err) {
			t.Errorf("%+v\n got %s\nwant %s", tt.task, said, tt.want)
		}
	}
	x := newExecutor(t, Config{})
	if _, err := task(t, x, Toolchain{Do: Install}); err == nil ||
		!strings.HasSuffix(err.Error(), "start skill with --network to allow it") {
		t.Errorf("installs without the network: %v", err)
	}
}

// TestInstallReadsRequirementsAsPipDoes refuses requirements files for which pip 23.2 runs a package's
// programs, or may, with PIP_ONLY_BINARY, too.
func TestInstallReadsRequirementsAsPipDoes(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, text := range []string{
		"# a \\\n./evil", "\u00a0# a \\\n./evil", "a \\\n# b \\\n./evil", // no comment is continued
		"# coding: utf-7\n# +AAo-./evil", "\n# coding: utf-7 coding: utf-8\n# +AAo-./evil",
		"--pre -e ./evil", "--pre -r evil.txt", "--index-url= --no-binary=:all:",
		"a --global-option=b", "a==1 --hash=sha256:00 '--global-option'=b",
		"a ; python_version > '3' --global-option=b",
		"--pre --no-binary :all:", "a==1 --no-binary :all:", `--pre ""--no-binary :all:`,
		"a>=1/2", "a >=1.zip", "a==1/", "a==1/../evil", "a == 1.zip", "a.ZIP", "a ; ${B}",
		"-r \"x\"", "-r e\\vil.txt", "-r=x", "-r ${PWD}/x", "-r link/../evil.txt",
	} {
		x := newExecutor(t, Config{Network: true})
		layout(t, x.Dir(), "p/evil.txt=a", "p/x=a", `p/"x"=a`, "p/e\\vil.txt=a", "p/${PWD}/x=a", "far/near/a",
			"far/evil.txt=./evil", "p/requirements.txt="+text)
		if err := os.Symlink("../far/near", x.Dir()+"/p/link"); err != nil {
			t.Fatal(err)
		}
		if _, err := task(t, x, Toolchain{Do: Install, Path: "p"}); err == nil ||
			!strings.Contains(err.Error(), "scripts: true") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func isUnknown(err error) bool {
	return errors.Is(err, ErrUnknownRunner)
}

// TestGoProject has the real go command test, lint, format and build a module.
func TestGoProject(t *testing.T) {
	needs.GoCache(t)
	x := newExecutor(t, Config{Helper: self(t), ShareGo: true})
	need(t, x, "go", "gofmt")
	layout(t, x.Dir(), "m/go.mod=module example.org/m\n\ngo 1.26\n",
		"m/a.go=package m\n\nfunc  Sum(a, b int) int { return a + b }\n",
		"m/a_test.go=package m\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 1) != 3 {\n\t\tt.Errorf(\"1+1 is %d\", Sum(1, 1))\n\t}\n}\n\nfunc TestFine(t *testing.T) {}\n",
		"m/sub/s.go=package sub\n\nimport \"fmt\"\n\nfunc F() { fmt.Printf(\"%d\\n\", \"x\") }\n")
	got, err := task(t, x, Toolchain{Do: Test, Path: "m"})
	if err != nil || !got.Failed() || got.ExitCode != 1 {
		t.Errorf("test: %+v, %v\n%s%s", got, err, got.Stdout, got.Stderr)
	}
	if !strings.Contains(string(got.Stdout), "--- FAIL: TestSum") ||
		strings.Contains(string(got.Stdout), `"Action"`) {
		t.Errorf("test prints %s", got.Stdout)
	}
	got, err = task(t, x, Toolchain{Do: Test, Path: "m/a_test.go", Name: "Fine"})
	if err != nil || got.Failed() || !strings.Contains(string(got.Stdout), "--- PASS: TestFine") {
		t.Errorf("test of a file: %v\n%s%s", err, got.Stdout, got.Stderr)
	}
	if got, err = task(t, x, Toolchain{Do: Lint, Path: "m"}); err != nil || !got.Failed() ||
		!strings.Contains(string(got.Stderr), "sub/s.go:5:") {
		t.Errorf("lint: %s, %v", got.Stderr, err)
	}
	if got, err = task(t, x, Toolchain{Do: Typecheck, Path: "m"}); err != nil || got.Failed() {
		t.Errorf("typecheck: %s, %v", got.Stderr, err)
	}
	if got, err = task(t, x, Toolchain{Do: Format, Path: "m", Check: true}); err != nil || !got.Wrong ||
		string(got.Stdout) != "a.go\n" || got.Changed != nil {
		t.Errorf("format, to check: %+v, %v", got, err)
	}
	if got, err = task(t, x, Toolchain{Do: Format, Path: "m"}); err != nil || got.Failed() ||
		!slices.Equal(got.Changed, []string{x.Dir() + "/m/a.go"}) {
		t.Errorf("format: %+v, %v", got, err)
	}
	if data, _ := os.ReadFile(x.Dir() + "/m/a.go"); !strings.Contains(string(data), "func Sum(") {
		t.Errorf("format leaves %s", data)
	}
	if got, err = task(t, x, Toolchain{Do: Format, Path: "m", Check: true}); err != nil || got.Failed() {
		t.Errorf("formatted: %+v, %v", got, err)
	}
}

// If pip would install into the system, a virtual environment is created and used instead.
func TestInstallMakesAVirtualEnvironment(t *testing.T) {
	needs.Shell(t)
	for name, pip := range map[string]string{"outside": "#!/bin/sh\nexit 3\n", "missing": ""} {
		bin := t.TempDir()
		t.Setenv("PATH", bin+":/usr/bin:/bin")
		if pip == "" {
			t.Setenv("PATH", bin)
		} else {
			writeFile(t, bin+"/pip", pip, 0o755)
		}
		writeFile(t, bin+"/python3",
			"#!/bin/sh\n[ \"$*\" = '-m venv .venv' ] || exit 9\n/bin/mkdir -p .venv/bin\n"+
				"printf '#!/bin/sh\\necho inside $*\\n' >.venv/bin/pip; /bin/chmod +x .venv/bin/pip\n", 0o755)
		x := newExecutor(t, Config{Network: true})
		layout(t, x.Dir(), "p/requirements.txt")
		got, err := task(t, x, Toolchain{Do: Install, Path: "p"})
		if err != nil || string(got.Stdout) != "inside install -r requirements.txt\n" ||
			got.Dir != x.Dir()+"/p" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		writeFile(t, bin+"/python3", "#!/bin/sh\nexit 9\n", 0o755) // is not asked again
		if got, err = task(t, x, Toolchain{Do: Install, Path: "p"}); err != nil || got.Failed() {
			t.Errorf("%s: the second time %+v, %v", name, got, err)
		}
	}
}

// Without pytest, tests that use unittest are run with python -m unittest.
func TestUnittestWithoutPytest(t *testing.T) {
	needs.Shell(t)
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	writeFile(t, bin+"/python3", "#!/bin/sh\necho \"$*\"\n", 0o755)
	x := newExecutor(t, Config{})
	layout(t, x.Dir(), "u/tests/test_u.py=import unittest", "-u/test_v.py=from unittest import TestCase",
		"p/test_p.py=def test_p(): pass")
	for path, want := range map[string]string{
		"u":                 "-m unittest discover -s u/tests -p test*.py -v\n",
		"u/tests/test_u.py": "-m unittest u/tests/test_u.py -v\n",
		"-u":                "-m unittest discover -s ./-u -p test*.py -v\n",
	} {
		if got, err := task(t, x, Toolchain{Do: Test, Path: path}); err != nil ||
			string(got.Stdout) != want || got.Runner != "unittest" {
			t.Errorf("%s: %s, %v", path, got.Stdout, err)
		}
	}
	writeFile(t, bin+"/python3", "#!/bin/sh\necho 'Ran 0 tests in 0.000s'\necho\necho OK\n", 0o755)
	if got, err := task(t, x, Toolchain{Do: Test, Path: "u"}); err != nil || !got.NoTests || !got.Failed() {
		t.Errorf("no tests are a success: %+v, %v", got, err)
	}
	if _, err := task(t, x, Toolchain{Do: Test, Path: "p"}); !process.IsSpawnError(err) ||
		!strings.Contains(err.Error(), `"pytest"`) {
		t.Errorf("%v", err)
	}
	if err := os.Remove(bin + "/python3"); err != nil {
		t.Fatal(err)
	}
	if _, err := task(t, x, Toolchain{Do: Test, Path: "u"}); !process.IsSpawnError(err) ||
		!strings.Contains(err.Error(), `"pytest"`) {
		t.Errorf("%v", err)
	}
}
