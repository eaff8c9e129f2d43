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
	// sessionPrefix begins the id of a temporary key. Source: IAM User Guide, unique identifiers.
	sessionPrefix = "ASIA"
	rolePrefix    = "AROA"
	maxSession    = 4 << 10 // bytes of a token
	minSessionKey = 16      // bytes
)

// Sessions makes temporary keys and knows them again. It keeps nothing: all that there is to know of a key is in its token, which
// no one else can make. So it cannot be taken back before its time is over. Safe for concurrent use.
type Sessions struct{ key []byte }

// NewSessions returns sessions under a key, at least 16 bytes that all nodes of a server share.
func NewSessions(key []byte) (*Sessions, error) {
	if len(key) < minSessionKey {
		return nil, errors.New("sigv4: a key for sessions needs at least 16 bytes")
	}
	return &Sessions{key: mac(key, "temporary keys")}, nil
}

// Session is someone who has assumed a role.
type Session struct {
	// Partition and Account are those of the role, whose name, without a path, is Role.
	Partition, Account, Role string
	// Name is the session's.
	Name string
	// Until is when its keys end, to the second.
	Until time.Time
}

// ARN returns the session's, e.g. arn:aws:sts::000000000000:assumed-role/deploy/me.
func (s Session) ARN() string {
	return "arn:" + s.Partition + ":sts::" + s.Account + ":assumed-role/" + s.Role + "/" + s.Name
}

// UserID returns the id of the session, e.g. AROAEXAMPLEEXAMPLE234:me. It is the same for each session of that name.
func (s Session) UserID() string {
	sum := sha256.Sum256([]byte(s.Partition + " " + s.Account + " " + s.Role))
	return rolePrefix + base32.StdEncoding.EncodeToString(sum[:])[:17] + ":" + s.Name
}

// over reports whether a session has finished; nil never does.
func (s *Session) over(now time.Time) bool { return s != nil && !now.Before(s.Until) }

// Credentials are a temporary key.
type Credentials struct {
	ID     string
	Secret Secret
	// Token is sent with every request.
	Token Secret
}

// claims is what a token says.
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
		panic(err) // texts and a number always marshal
	}
	token := base64.StdEncoding.EncodeToString(append(mac(s.key, "token "+string(text)), text...))
	return Credentials{ID: id, Secret: s.secret(text), Token: Secret(token)}
}

// secret is that of the key whose token says text.
func (s *Sessions) secret(text []byte) Secret {
	return Secret(base64.StdEncoding.EncodeToString(mac(s.key, "secret "+string(text)))[:40])
}

// open returns the key and the session that a token says; false if it is not of this server, or of another key.
func (s *Sessions) open(id, token string) (key Key, session Session, ok bool) {
	if len(token) > maxSession || !strings.HasPrefix(id, sessionPrefix) || strings.ContainsAny(token, "\r\n") { // base64 reads over line ends
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
