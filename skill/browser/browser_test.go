package browser_test

import (
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"textskill/skill"
	"textskill/skill/browser"
	"textskill/testdata/needs"
)

func TestMain(m *testing.M) {
	skill.HelperMain()
	if url := os.Getenv("BROWSER_TEST_URL"); url != "" {
		os.Exit(shoot(url))
	}
	os.Exit(needs.Run(m))
}

// counted starts a loopback server that counts its requests.
func counted(t *testing.T, h http.HandlerFunc) (s *httptest.Server, requests *atomic.Int32) {
	requests = new(atomic.Int32)
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s, requests
}

func hello(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) }

// TestScreenshot takes pictures with the Chromium of this machine.
func TestScreenshot(t *testing.T) {
	needs.Browser(t)
	temp, err := os.MkdirTemp("/tmp", "b")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	t.Setenv("TMPDIR", temp)
	inside, arrived := counted(t, hello)
	site, _ := counted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/in":
			http.Redirect(w, r, inside.URL, http.StatusFound)
		case "/404":
			w.WriteHeader(http.StatusNotFound)
			fallthrough
		default:
			fmt.Fprintf(w, `<title>red</title><body style="margin:0;background:#f00;height:3000px">
<img src="%s/img"><script>fetch(%[1]q); new WebSocket(%[1]q.replace("http","ws"))</script>`, inside.URL)
		}
	})
	helper, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x, err := skill.New(skill.Config{Dir: t.TempDir(), Network: true, NoSandbox: true, Helper: helper,
		Browser: browser.New(), Hosts: []string{strings.TrimPrefix(site.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, c := range []struct {
		path   string
		full   bool
		status int
		height int
	}{{"/", false, 200, 300}, {"/", true, 200, 3000}, {"/404", false, 404, 300}} {
		r, err := x.Execute(t.Context(), &skill.Session{}, skill.Screenshot{URL: site.URL + c.path,
			Dest: "shots/s.png", Width: 400, Height: 300, Full: c.full})
		if err != nil {
			t.Fatal(err)
		}
		if s := r.(skill.Shot); s.Status != c.status || s.Title != "red" {
			t.Errorf("%s: %+v", c.path, s)
		}
		f, err := os.Open(filepath.Join(x.Dir(), "shots/s.png"))
		if err != nil {
			t.Fatal(err)
		}
		img, kind, err := image.Decode(f)
		f.Close()
		if err != nil || kind != "png" || img.Bounds().Dx() != 400 || img.Bounds().Dy() != c.height {
			t.Fatalf("%s: %s, %v, %v", c.path, kind, img, err)
		}
		if r, g, b, _ := img.At(390, 290).RGBA(); r != 0xffff || g != 0 || b != 0 {
			t.Errorf("%s: the picture is not of the page: %x %x %x", c.path, r, g, b)
		}
	}
	_, err = x.Execute(t.Context(), &skill.Session{}, skill.Screenshot{URL: site.URL + "/in", Dest: "in.png"})
	var refused *skill.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("a redirect to this machine: %v", err)
	}
	if n := arrived.Load(); n != 0 {
		t.Errorf("%d requests bypassed the guard", n)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "skill-browser-*")); len(left) != 0 {
		t.Errorf("profile directories remain: %v", left)
	}
}

// TestScreenshotLongTemp takes a picture where the folder for temporary files has a long name.
func TestScreenshotLongTemp(t *testing.T) {
	needs.Browser(t)
	site, _ := counted(t, hello)
	temp := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	x, err := skill.New(skill.Config{Dir: t.TempDir(), Network: true, Private: true, NoSandbox: true,
		Unfenced: true, Browser: browser.New()})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if _, err := x.Execute(t.Context(), &skill.Session{}, skill.Screenshot{URL: site.URL, Dest: "s.png"}); err != nil {
		t.Error(err)
	}
}

// shoot takes a picture and prints its title.
func shoot(url string) int {
	x, err := skill.New(skill.Config{Network: true, Private: true, Helper: "/proc/self/exe",
		Browser: browser.New()})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer x.Close()
	r, err := x.Execute(context.Background(), &skill.Session{}, skill.Screenshot{URL: url, Dest: "s.png"})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Print(r.(skill.Shot).Title)
	return 0
}
