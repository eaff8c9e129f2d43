package sigv4

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

const (
	// sessionPrefix is the prefix of a temporary key's ID. Source: IAM User Guide, unique identifiers.
	sessionPrefix = "ASIA"
	rolePrefix    = "AROA"
	maxSession    = 4 << 10 // bytes of a token
	minSessionKey = 16      // bytes
)

// Sessions issues temporary keys and recognizes them. It is stateless: the authenticated token contains everything
// about a key. So a key cannot be revoked before it expires. Sessions is safe for concurrent use.
type Sessions struct{ key []byte }

// NewSessions returns sessions for a key of at least 16 bytes that all nodes of a server share.
func NewSessions(key []byte) (*Sessions, error) {
	if len(key) < minSessionKey {
		return nil, errors.New("sigv4: a key for sessions needs at least 16 bytes")
	}
	return &Sessions{key: mac(key, "temporary keys")}, nil
}

// Session is a session of an assumed role.
type Session struct {
	// Partition and Account are those of the role. Role is its name without a path.
	Partition, Account, Role string
	// Name is the session name.
	Name string
	// Until is when the session's keys expire, with a precision of one second.
	Until time.Time
}

// ARN returns the session's ARN, e.g. arn:aws:sts::000000000000:assumed-role/deploy/me.
func (s Session) ARN() string {
	return "arn:" + s.Partition + ":sts::" + s.Account + ":assumed-role/" + s.Role + "/" + s.Name
}

// UserID returns the session's ID, e.g. AROAEXAMPLEEXAMPLE234:me. It is the same for every session of the role with
// that name.
func (s Session) UserID() string {
	sum := sha256.Sum256([]byte(s.Partition + " " + s.Account + " " + s.Role))
	return rolePrefix + base32.StdEncoding.EncodeToString(sum[:])[:17] + ":" + s.Name
}

// over reports whether a session has expired. A nil session never expires.
func (s *Session) over(now time.Time) bool { return s != nil && !now.Before(s.Until) }

// Credentials are a temporary key.
type Credentials struct {
	ID     string
	Secret Secret
	// Token is sent with every request.
	Token Secret
}

// claims is the content of a token.
type claims struct {
	ID        string `json:"i"`
	Partition string `json:"p"`
	Account   string `json:"a"`
	Role      string `json:"r"`
	Name      string `json:"n"`
	Until     int64  `json:"u"` // Unix time
}

// Issue returns a new key for a session.
func (s *Sessions) Issue(session Session) Credentials {
	id := sessionPrefix + rand.Text()[:16]
	text, err := json.Marshal(claims{id, session.Partition, session.Account, session.Role, session.Name, session.Until.Unix()})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	token := base64.StdEncoding.EncodeToString(append(mac(s.key, "token "+string(text)), text...))
	return Credentials{ID: id, Secret: s.secret(text), Token: Secret(token)}
}

// secret returns the secret of the key for the token's text.
func (s *Sessions) secret(text []byte) Secret {
	return Secret(base64.StdEncoding.EncodeToString(mac(s.key, "secret "+string(text)))[:40])
}

// open returns the key and the session of a token. It returns false if this server did not issue the token, or not for
// this key.
func (s *Sessions) open(id, token string) (key Key, session Session, ok bool) {
	if len(token) > maxSession || !strings.HasPrefix(id, sessionPrefix) || strings.ContainsAny(token, "\r\n") { // base64 ignores line ends
		return key, session, false
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < sha256.Size {
		return key, session, false
	}
	text := raw[sha256.Size:]
	if !hmac.Equal(raw[:sha256.Size], mac(s.key, "token "+string(text))) {
		return key, session, false
	}
	var said claims
	if json.Unmarshal(text, &said) != nil || said.ID != id {
		return key, session, false
	}
	session = Session{said.Partition, said.Account, said.Role, said.Name, time.Unix(said.Until, 0)}
	return Key{ID: id, Secret: s.secret(text), Account: said.Account, Role: session.ARN()}, session, true
}
