package page

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"textskill/skill/internal/door"
)

// A guard refuses requests without a key.
//
// A user opens the page by a link with the token. The answer sets a cookie with a key, and
// redirects to the address without the token. Browsers send a cookie to all ports of a host, so
// the cookie is for a secret folder: other servers on this machine do not get it. The cookie is
// Lax: users may click the link in a page of another site, such as a terminal in a browser.
// Browsers send no Strict cookie then.
//
// A request that changes files also needs a second key, which the pages contain. The script sends
// it in a header. Without the script, a hidden field of the form sends it. A page of another
// origin can neither read this key nor set the header.
type guard struct {
	door    *door.Door
	token   string
	program string // name of the program in commands to type
	base    string // the secret folder, like "/4f5a…"
	read    string // key in the cookie
	change  string // key for changes
}

func newGuard(d *door.Door, token, program string) *guard {
	return &guard{d, token, program, "/" + derive(token, "folder")[:12], derive(token, "read"),
		derive(token, "change")}
}

// derive derives a key from the token. The key reveals neither the token nor other keys.
func derive(token, use string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(use))
	return hex.EncodeToString(mac.Sum(nil)[:20])
}

const (
	cookieName  = "skill-page"
	keyHeader   = "Skill-Key" // has the key for changes
	keyField    = "key"       // has the key for changes, in a form
	tokenInLink = "token"
	maxForm     = 4 << 10
)

// policy is the Content-Security-Policy of every answer.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// admits reports whether the page may answer a request. If not, admits has answered the request.
func (g *guard) admits(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close") // a refused client must not occupy a connection
	switch token := r.URL.Query().Get(tokenInLink); {
	case !g.door.Host(r.Host):
		http.Error(w, fmt.Sprintf("Host %q is not a name of this server", r.Host), http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
		h.Set("Allow", "GET, HEAD, POST")
		http.Error(w, "only GET, HEAD and POST are answered", http.StatusMethodNotAllowed)
	case !g.sameSite(r):
		http.Error(w, fmt.Sprintf("Origin %q is not this server", r.Header.Get("Origin")),
			http.StatusForbidden)
	case r.Method != http.MethodPost && token != "" && door.Same(token, g.token):
		http.SetCookie(w, &http.Cookie{Name: cookieName, Value: g.read, Path: g.base + "/", HttpOnly: true,
			SameSite: http.SameSiteLaxMode})
		http.Redirect(w, r, g.base+"/", http.StatusSeeOther)
	case !g.mayRead(r):
		h.Set("WWW-Authenticate", "Bearer")
		http.Error(w, "this page needs its token: open the address that "+g.program+" web has printed",
			http.StatusUnauthorized)
	case r.Method == http.MethodPost && !g.mayChange(w, r):
		http.Error(w, "nothing was changed: the request does not have the key of this page; reload the page and try again", http.StatusForbidden)
	default:
		h.Del("Connection")
		return true
	}
	return false
}

// sameSite reports whether a request does not come from a page of another site. The pages send no
// referrer, so browsers send the origin "null" with their forms. Then Sec-Fetch-Site decides.
func (g *guard) sameSite(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	own := r.Header.Get("Sec-Fetch-Site") == "same-origin"
	return g.door.Origin(r.Host, origins) || own && len(origins) == 1 && origins[0] == "null"
}

func (g *guard) mayRead(r *http.Request) bool {
	if c, err := r.Cookie(cookieName); err == nil && strings.HasPrefix(r.URL.Path, g.base+"/") &&
		door.Same(c.Value, g.read) {
		return true
	}
	return door.Bearer(r.Header.Get("Authorization"), g.token)
}

func (g *guard) mayChange(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	return door.Same(cmp.Or(r.Header.Get(keyHeader), r.PostFormValue(keyField)), g.change)
}
