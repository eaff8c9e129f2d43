package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/engine"
)

// Role decides what a session may do. The set is closed.
type Role string

// The roles.
const (
	// Viewer may view everything in its account.
	Viewer Role = "viewer"
	// Operator may also execute actions.
	Operator Role = "operator"
)

// operators are the roles that may execute actions.
var operators = []Role{Operator}

// sessionTime is how long a session lasts.
const sessionTime = 8 * time.Hour

// Identity is the user of a session.
type Identity struct {
	// Name is displayed and recorded with each action, e.g. "the local user".
	Name string `json:"n"`
	// KeyID is the ID of the access key that began the session, or empty. If it is set, the role is that of the key.
	KeyID string `json:"k,omitempty"`
	// Account is the account whose stacks are visible. Empty means all.
	Account string `json:"a,omitempty"`
	Role    Role   `json:"r"`
}

// session is the content of a signed cookie.
type session struct {
	Identity
	ID      string `json:"i"`
	Expires int64  `json:"e"` // Unix seconds
}

// accounts returns the accounts whose stacks are visible, nil for all. ROS writes the same account with more digits.
func (s *session) accounts() []string {
	if s.Account == "" {
		return nil
	}
	return []string{s.Account, engine.ROSAccount(s.Account)}
}

// sees reports whether stacks of an account are visible.
func (s *session) sees(account string) bool {
	return s.Account == "" || account == s.Account || account == engine.ROSAccount(s.Account)
}

// acts reports whether the session may execute actions.
func (s *session) acts() bool { return slices.Contains(operators, s.Role) }

// sessions creates and verifies the signed cookies of sessions.
type sessions struct {
	key    []byte
	keys   func(id string) (sigv4.Key, bool) // nil for none
	secure bool                              // cookies are sent by https only
	now    func() time.Time
	ended  ended
}

// sign returns the signature of a text for a purpose.
func (ss *sessions) sign(purpose, text string) string {
	mac := hmac.New(sha256.New, ss.key)
	mac.Write([]byte(purpose + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// begin creates a session and sets its cookie.
func (ss *sessions) begin(w http.ResponseWriter, r *http.Request, who Identity) error {
	s := session{Identity: who, ID: rand.Text(), Expires: ss.now().Add(sessionTime).Unix()}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	body := base64.RawURLEncoding.EncodeToString(text)
	http.SetCookie(w, ss.cookie(r, body+"."+ss.sign("session", body), int(sessionTime/time.Second)))
	return nil
}

// cookie returns the cookie of a session, or with a negative age the one that deletes it. Its name contains the port,
// because browsers send cookies to all ports of a host.
func (ss *sessions) cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName(r), Value: value, Path: Prefix, MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: ss.secure || r.TLS != nil,
	}
}

func cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	if port == "" {
		return "pintle_console"
	}
	return "pintle_console_" + port
}

// session returns the session of a request, or false if the request has no valid session.
func (ss *sessions) session(r *http.Request) (*session, bool) {
	cookie, err := r.Cookie(cookieName(r))
	if err != nil {
		return nil, false
	}
	body, seal, _ := strings.Cut(cookie.Value, ".")
	if !hmac.Equal([]byte(seal), []byte(ss.sign("session", body))) {
		return nil, false
	}
	text, err := base64.RawURLEncoding.DecodeString(body)
	var s session
	if err != nil || json.Unmarshal(text, &s) != nil || ss.now().Unix() >= s.Expires || ss.ended.has(s.ID) {
		return nil, false
	}
	if s.KeyID == "" {
		return &s, true
	}
	// Use the current state of the key: it may have been deleted or have another role.
	who, ok := ss.identityOf(s.KeyID)
	s.Identity = who
	return &s, ok
}

// identityOf returns the identity of an access key, or false for an unknown key.
func (ss *sessions) identityOf(id string) (Identity, bool) {
	if ss.keys == nil {
		return Identity{}, false
	}
	key, ok := ss.keys(id)
	if !ok {
		return Identity{}, false
	}
	who := Identity{Name: "access key " + key.ID + " of account " + key.Account, KeyID: key.ID, Account: key.Account, Role: Viewer}
	if key.Console == string(Operator) {
		who.Role = Operator
	}
	return who, true
}

// token returns the CSRF token for the forms of a session.
func (ss *sessions) token(s *session) string { return ss.sign("form", s.ID) }

// ended contains the sessions whose users signed out before they expired. The list is lost when the process exits, but
// the browser has deleted the cookie.
type ended struct {
	mu  sync.Mutex
	ids map[string]int64 // expiry in Unix seconds
}

// maxEnded is the maximum number of remembered sessions.
const maxEnded = 10_000

func (e *ended) add(s *session, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ids == nil || len(e.ids) >= maxEnded {
		kept := map[string]int64{}
		for id, until := range e.ids {
			if until > now.Unix() && len(kept) < maxEnded/2 {
				kept[id] = until
			}
		}
		e.ids = kept
	}
	e.ids[s.ID] = s.Expires
}

func (e *ended) has(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.ids[id]
	return ok
}
