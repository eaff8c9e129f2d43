package console

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
)

const (
	// linkTime is how long a link is valid. maxLinks is the maximum number of unused links of one caller, and
	// maxAllLinks of all callers. The server's own user is exempt and always gets a link.
	linkTime    = 2 * time.Minute
	maxLinks    = 64
	maxAllLinks = 4096
)

// link is an unused sign-in link in the store, under the hash of its token. All nodes share the store, because a link
// may be created on one node and opened on another.
type link struct {
	Who     Identity `json:"who"`
	Expires int64    `json:"expires"` // Unix seconds
}

// linkKey returns the store key of a link.
func linkKey(name string) store.EntryKey {
	return store.EntryKey{Account: "-", Region: "-", Kind: "console-link", Name: name}
}

func linkName(token string) string {
	hash := sha256.Sum256([]byte(token))
	return hex.EncodeToString(hash[:])
}

// ErrManyLinks is the error of [Console.Link] if a caller has too many unused links.
var ErrManyLinks = errors.New("too many sign-in links wait to be used: wait two minutes")

// links are one-time links that begin sessions. They are rows of the store, so that they work on all nodes.
type links struct {
	sessions *sessions
	rows     Rows
}

// Link returns the path of a page that begins a session. It works once and within two minutes, at any node that shares
// the store. The server's own user, whose identity has no access key, always gets a link: above the limit, it replaces
// the oldest.
func (ls *links) Link(ctx context.Context, who Identity) (string, error) {
	if err := ls.sweepLinks(ctx, who); err != nil {
		return "", err
	}
	definition, err := json.Marshal(link{who, ls.sessions.now().Add(linkTime).Unix()})
	if err != nil {
		return "", err
	}
	id := rand.Text() + rand.Text()
	token := id + "." + ls.sessions.sign("link", id)
	_, err = ls.rows.PutEntry(ctx, store.Entry{EntryKey: linkKey(linkName(token)), Definition: definition})
	if err != nil {
		return "", fmt.Errorf("keep a sign-in link: %w", err)
	}
	return Prefix + "sign-in?token=" + token, nil
}

// sweepLinks removes expired links and makes room for a new one of the caller. It returns [ErrManyLinks] if it cannot.
func (ls *links) sweepLinks(ctx context.Context, who Identity) error {
	all, own := 0, 0
	var oldest store.Entry // of the caller
	var ends int64
	for after := linkKey(""); ; {
		rows, err := ls.rows.Entries(ctx, after, maxLinks)
		if err != nil {
			return fmt.Errorf("sign-in links: %w", err)
		}
		for _, row := range rows {
			var l link
			if json.Unmarshal(row.Definition, &l) != nil || ls.sessions.now().Unix() >= l.Expires {
				if err := ls.dropLink(ctx, row); err != nil {
					return err
				}
				continue
			}
			if l.Who.KeyID != "" {
				all++
			}
			if l.Who.KeyID == who.KeyID && l.Who.Name == who.Name {
				if own++; own == 1 || l.Expires < ends {
					oldest, ends = row, l.Expires
				}
			}
		}
		if len(rows) < maxLinks {
			break
		}
		after = rows[len(rows)-1].EntryKey
	}
	switch {
	case own >= maxLinks && who.KeyID == "":
		return ls.dropLink(ctx, oldest)
	case own >= maxLinks, all >= maxAllLinks && who.KeyID != "":
		return ErrManyLinks
	}
	return nil
}

func (ls *links) dropLink(ctx context.Context, row store.Entry) error {
	err := ls.rows.DropEntry(ctx, row.EntryKey, row.Version)
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrChanged) {
		return fmt.Errorf("sign-in links: %w", err)
	}
	return nil
}

// LinkFor returns a [Console.Link] for an access key, or false if the key does not exist.
func (ls *links) LinkFor(ctx context.Context, id string) (path string, ok bool, err error) {
	who, ok := ls.sessions.identityOf(id)
	if !ok {
		return "", false, nil
	}
	path, err = ls.Link(ctx, who)
	return path, true, err
}

// useLink removes the link of a token and returns its identity. It returns false if the link does not exist or has
// expired. Unsigned tokens are not looked up.
func (ls *links) useLink(ctx context.Context, token string) (Identity, bool, error) {
	id, seal, _ := strings.Cut(token, ".")
	if !hmac.Equal([]byte(seal), []byte(ls.sessions.sign("link", id))) {
		return Identity{}, false, nil
	}
	row, err := ls.rows.Entry(ctx, linkKey(linkName(token)))
	if err == nil {
		err = ls.rows.DropEntry(ctx, row.EntryKey, row.Version) // if two clients try at once, only one succeeds
	}
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrChanged) {
		return Identity{}, false, nil
	}
	if err != nil {
		return Identity{}, false, fmt.Errorf("use a sign-in link: %w", err)
	}
	var l link
	if err := json.Unmarshal(row.Definition, &l); err != nil {
		return Identity{}, false, fmt.Errorf("use a sign-in link: %w", err)
	}
	return l.Who, ls.sessions.now().Unix() < l.Expires, nil
}
