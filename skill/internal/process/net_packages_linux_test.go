package process

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"textskill/skill/internal/egress"
	"textskill/testdata/needs"
)

// archived returns an archive, of tar and gzip or of zip, with files whose names and contents alternate.
func archived(t *testing.T, zipped bool, files ...string) []byte {
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	tape := tar.NewWriter(packed)
	if zipped {
		b.Reset()
	}
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		var err error
		if zipped {
			w, failed := z.Create(files[i])
			if err = failed; err == nil {
				_, err = w.Write([]byte(files[i+1]))
			}
		} else if err = tape.WriteHeader(&tar.Header{Name: files[i], Mode: 0o644,
			Size: int64(len(files[i+1]))}); err == nil {
			_, err = tape.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if zipped {
		z.Close()
	} else {
		tape.Close()
		packed.Close()
	}
	return b.Bytes()
}

// repositoryFor makes a bare repository, as files that a web server has, or returns "" without git.
func repositoryFor(t *testing.T) string {
	dir := t.TempDir()
	if _, err := exec.LookPath("git"); err != nil {
		return ""
	}
	for _, args := range [][]string{{"init", "-q", "w"},
		{"-C", "w", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty",
			"-m", "hello"},
		{"clone", "-q", "--bare", "w", "hello.git"}, {"-C", "hello.git", "update-server-info"}} {
		cmd := exec.Command("git", args...)
		if cmd.Dir = dir; cmd.Run() != nil {
			t.Fatal(args)
		}
	}
	return dir
}

// newRegistry serves the package hello of each registry at a port of this machine. It returns the
// port, and a file with the authority of its certificate.
func newRegistry(t *testing.T, dir string) (port int, authority string) {
	const npm, pypi, files, proxy, index, crates, github = "registry.npmjs.org", "pypi.org",
		"files.pythonhosted.org", "proxy.golang.org", "index.crates.io", "static.crates.io", "github.com"
	const golang = "example.org/hello@v1.0.0/"
	pages := map[string]string{
		npm + "/hello-1.0.0.tgz": string(archived(t, false, "package/package.json",
			`{"name":"hello","version":"1.0.0"}`, "package/index.js", "console.log('hello of npm')")),
		files + "/hello-1.0-py3-none-any.whl": string(archived(t, true, "hello.py",
			"print('hello of pip')\n", "hello-1.0.dist-info/METADATA",
			"Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n", "hello-1.0.dist-info/WHEEL",
			"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
			"hello-1.0.dist-info/RECORD",
			"hello.py,,\nhello-1.0.dist-info/METADATA,,\nhello-1.0.dist-info/WHEEL,,\nhello-1.0.dist-info/RECORD,,\n")),
		proxy + "/example.org/hello/@v/list":        "v1.0.0\n",
		proxy + "/example.org/hello/@v/v1.0.0.info": `{"Version":"v1.0.0"}`,
		proxy + "/example.org/hello/@v/v1.0.0.mod":  "module example.org/hello\n",
		proxy + "/example.org/hello/@v/v1.0.0.zip": string(archived(t, true, golang+"go.mod",
			"module example.org/hello\n", golang+"hello.go",
			"package main\n\nfunc main() { println(\"hello of go\") }\n")),
		crates + "/hello/1.0.0/download": string(archived(t, false, "hello-1.0.0/Cargo.toml",
			"[package]\nname=\"hello\"\nversion=\"1.0.0\"\nedition=\"2021\"\n", "hello-1.0.0/src/lib.rs",
			"pub fn hello() {}\n")),
		index + "/config.json": `{"dl":"https://static.crates.io","api":"https://crates.io"}`,
		"good.example/":        "hello of the web",
	}
	sum := sha512.Sum512([]byte(pages[npm+"/hello-1.0.0.tgz"]))
	pages[npm+"/hello"] = fmt.Sprintf(`{"name":"hello","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"hello","version":"1.0.0","dist":{"tarball":"https://%s/hello-1.0.0.tgz","integrity":"sha512-%s"}}}}`, npm, base64.StdEncoding.EncodeToString(sum[:]))
	pages[pypi+"/simple/hello/"] = "<a href=\"https://" + files +
		"/hello-1.0-py3-none-any.whl\">hello-1.0-py3-none-any.whl</a>"
	pages[index+"/he/ll/hello"] = fmt.Sprintf(`{"name":"hello","vers":"1.0.0","deps":[],"cksum":"%x","features":{},"yanked":false}`, sha256.Sum256([]byte(pages[crates+"/hello/1.0.0/download"]))) + "\n"
	repository := http.FileServer(http.Dir(repositoryFor(t)))
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, found := pages[r.Host+r.URL.Path]
		switch {
		case r.Host == github:
			repository.ServeHTTP(w, r)
		case !found:
			http.NotFound(w, r)
		default:
			if strings.HasSuffix(r.URL.Path, "/") {
				w.Header().Set("Content-Type", "text/html")
			}
			fmt.Fprint(w, page)
		}
	}))
	certificate, parsed := needs.Certificate(t, npm, pypi, files, proxy, index, crates, github,
		"good.example")
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	authority = filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: parsed.Raw}),
		0o644); err != nil {
		t.Fatal(err)
	}
	return s.Listener.Addr().(*net.TCPAddr).Port, authority
}

// Where the hosts of a package manager are allowed, it installs, with the default flags besides.
func TestPackagesAreInstalled(t *testing.T) {
	dir := t.TempDir()
	port, authority := newRegistry(t, dir)
	at := map[string]string{}
	for _, host := range []string{"registry.npmjs.org", "pypi.org", "files.pythonhosted.org",
		"proxy.golang.org", "index.crates.io", "static.crates.io", "github.com", "good.example"} {
		at[host+":443"] = fmt.Sprint("127.0.0.1:", port)
	}
	x := newRunner(t, dir, Config{Helper: self(t),
		Egress: egress.Rules{Allow: []string{"npm", "pypi", "go", "cargo", "github", "good.example"}},
		hosts:  at})
	needs.That(t, x.Fence().Alone, "network namespaces", "let users make them")
	var env []string
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE",
		"CARGO_HTTP_CAINFO", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE"} {
		env = append(env, name+"="+authority)
	}
	for _, tt := range []struct{ program, script, want string }{
		{"npm", "npm install --no-fund --prefix n hello && node n/node_modules/hello", "hello of npm"},
		{"pip", "python3 -m pip install -q --target p hello; PYTHONPATH=p python3 -c 'import hello'",
			"hello of pip"},
		{"go", "GONOSUMDB=example.org/* GOTOOLCHAIN=local GOFLAGS=-modcacherw go mod download -x example.org/hello@v1.0.0 && cat $(go env GOMODCACHE)/example.org/hello@v1.0.0/hello.go", "hello of go"},
		{"cargo", "mkdir -p c/src && touch c/src/lib.rs && printf '[package]\\nname=\"a\"\\nversion=\"0.1.0\"\\nedition=\"2021\"\\n[dependencies]\\nhello=\"1\"\\n' > c/Cargo.toml && cargo fetch --manifest-path c/Cargo.toml && cat $CARGO_HOME/registry/src/*/hello-1.0.0/src/lib.rs", "pub fn hello"},
		{"git", "git clone -q https://github.com/hello.git g && git -C g log --format=%s", "hello"},
		{"curl", "curl -sS https://good.example/", "hello of the web"},
		{"wget", "wget -qO- --ca-certificate=authority.pem https://good.example/", "hello of the web"},
		{"node", "env -u NODE_USE_ENV_PROXY node -e 'fetch(\"https://good.example/\").then(r => r.text()).then(console.log)'", "hello of the web"},
		{"python3", "python3 -c 'import urllib.request; print(urllib.request.urlopen(\"https://good.example/\").read())'", "hello of the web"},
	} {
		t.Run(tt.program, func(t *testing.T) {
			need(t, x, tt.program)
			c := sh(tt.script)
			c.Env = env
			if got := mustExec(t, x, c); got.Failed() || !strings.Contains(string(got.Stdout), tt.want) ||
				len(got.Refused) > 0 {
				t.Errorf("%s, refused %q\n%s%s", tt.script, got.Refused, got.Stdout, got.Stderr)
			}
		})
	}
}
