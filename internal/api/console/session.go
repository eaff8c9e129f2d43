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

	"github.com/pintle-dev/pintle/internal/engine"
)

// Role is what a session may do. The set is closed.
type Role string

// The roles.
const (
	// Viewer may look at everything in its account.
	Viewer Role = "viewer"
	// Operator may act besides.
	Operator Role = "operator"
)

// operators is who may act.
var operators = []Role{Operator}

// sessionTime is how long a session lasts.
const sessionTime = 8 * time.Hour

// Identity is who a session is of.
type Identity struct {
	// Name is shown to people and recorded with each action, e.g. "the local user".
	Name string `json:"n"`
	// KeyID is the id of the access key that began the session; empty if none did. The role is then that of the key.
	KeyID string `json:"k,omitempty"`
	// Account is whose stacks are seen; empty for all.
	Account string `json:"a,omitempty"`
	Role    Role   `json:"r"`
}

// session is what a cookie says, signed.
type session struct {
	Identity
	ID      string `json:"i"`
	Expires int64  `json:"e"` // Unix seconds
}

// accounts are those whose stacks are seen, nil for all. ROS writes the same account with more digits.
func (s *session) accounts() []string {
	if s.Account == "" {
		return nil
	}
	return []string{s.Account, engine.ROSAccount(s.Account)}
}

// sees reports whether stacks of an account are shown.
func (s *session) sees(account string) bool {
	return s.Account == "" || account == s.Account || account == engine.ROSAccount(s.Account)
}

// acts reports whether the session may act.
func (s *session) acts() bool { return slices.Contains(operators, s.Role) }

// sign returns the seal of a text for a purpose.
func (c *Console) sign(purpose, text string) string {
	mac := hmac.New(sha256.New, c.Key)
	mac.Write([]byte(purpose + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// begin makes a session and gives the browser its cookie.
func (c *Console) begin(w http.ResponseWriter, r *http.Request, who Identity) error {
	s := session{Identity: who, ID: rand.Text(), Expires: c.Now().Add(sessionTime).Unix()}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	body := base64.RawURLEncoding.EncodeToString(text)
	http.SetCookie(w, c.cookie(r, body+"."+c.sign("session", body), int(sessionTime/time.Second)))
	return nil
}

// cookie makes the cookie of a session, or with a negative age the one that takes it away. The port is in its name, for
// browsers send the cookies of one port of a machine to all others of it.
func (c *Console) cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName(r), Value: value, Path: Prefix, MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: c.Secure || r.TLS != nil,
	}
}

func cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	if port == "" {
		return "pintle_console"
	}
	return "pintle_console_" + port
}

// session returns the session that a request is of; false if there is none, or it is over.
func (c *Console) session(r *http.Request) (*session, bool) {
	cookie, err := r.Cookie(cookieName(r))
	if err != nil {
		return nil, false
	}
	body, seal, _ := strings.Cut(cookie.Value, ".")
	if !hmac.Equal([]byte(seal), []byte(c.sign("session", body))) {
		return nil, false
	}
	text, err := base64.RawURLEncoding.DecodeString(body)
	var s session
	if err != nil || json.Unmarshal(text, &s) != nil || c.Now().Unix() >= s.Expires || c.ended.has(s.ID) {
		return nil, false
	}
	if s.KeyID == "" {
		return &s, true
	}
	// A key that was taken away, or given another role, counts as it is now.
	who, ok := c.identityOf(s.KeyID)
	s.Identity = who
	return &s, ok
}

// identityOf returns who signs in with an access key; false if there is no such key.
func (c *Console) identityOf(id string) (Identity, bool) {
	if c.Keys == nil {
		return Identity{}, false
	}
	key, ok := c.Keys(id)
	if !ok {
		return Identity{}, false
	}
	who := Identity{Name: "access key " + key.ID + " of account " + key.Account, KeyID: key.ID, Account: key.Account, Role: Viewer}
	if key.Console == string(Operator) {
		who.Role = Operator
	}
	return who, true
}

// token is what forms of a session send with them.
func (c *Console) token(s *session) string { return c.sign("form", s.ID) }

// ended are the sessions that were ended before their time. They are lost with the process, and the cookie is gone from the
// browser that ended its session.
type ended struct {
	mu  sync.Mutex
	ids map[string]int64 // until when, Unix seconds
}

// maxEnded is how many are remembered.
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
