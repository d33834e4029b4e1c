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

// A guard answers the requests that may be answered.
//
// Who opens the page has the token in the address. The first answer puts a key in a cookie
// and leads to the address without the token. The cookie belongs to a folder of the server
// that nobody else knows: cookies are not kept apart by ports, so that other servers of
// this machine would be sent one of /. It is Lax, for a Strict one is not sent after a
// click on the link in a page of another site, such as a terminal in a browser.
//
// A request that changes something also needs a second key, which the pages hold: in a header, as
// the script sends it, or in a hidden field, for without a script no form can send a header.
// A page of another origin can neither read it nor set the header.
type guard struct {
	door    *door.Door
	token   string
	program string // what to type for the program
	base    string // the folder, like "/4f5a…"
	read    string // key in the cookie
	change  string // key of changes
}

func newGuard(d *door.Door, token, program string) *guard {
	return &guard{d, token, program, "/" + derive(token, "folder")[:12], derive(token, "read"),
		derive(token, "change")}
}

// derive returns a key from which neither the token nor another key can be found.
func derive(token, use string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(use))
	return hex.EncodeToString(mac.Sum(nil)[:20])
}

const (
	cookieName  = "skill-page"
	keyHeader   = "Skill-Key" // of changes
	keyField    = "key"       // the same, in a form
	tokenInLink = "token"
	maxForm     = 4 << 10
)

// policy is the Content-Security-Policy of every answer.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// admits reports whether a request is answered by the page itself. If not, it has been
// answered.
func (g *guard) admits(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close") // others do not keep the connections that there are
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

// sameSite reports whether a request comes from no other site's page. A browser sends
// "null" as the origin of a form on a page without a referrer, and says beside it where
// the form is from.
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
