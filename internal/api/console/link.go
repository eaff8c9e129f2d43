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
	// linkTime is how long a link may be used. maxLinks is how many of one caller may wait for that, and maxAllLinks how many of all
	// callers but the server's own user, whose links always work.
	linkTime    = 2 * time.Minute
	maxLinks    = 64
	maxAllLinks = 4096
)

// link is what the store keeps of a sign-in link that was not used yet, under the hash of its token. It is there that all nodes find
// it: who opens a link may come to another node than who asked for it.
type link struct {
	Who     Identity `json:"who"`
	Expires int64    `json:"expires"` // Unix seconds
}

// linkKey is where a link is kept.
func linkKey(name string) store.EntryKey {
	return store.EntryKey{Account: "-", Region: "-", Kind: "console-link", Name: name}
}

func linkName(token string) string {
	hash := sha256.Sum256([]byte(token))
	return hex.EncodeToString(hash[:])
}

// ErrManyLinks is the error of [Console.Link] while too many links of a caller wait to be used.
var ErrManyLinks = errors.New("too many sign-in links wait to be used: wait two minutes")

// Link returns the path of a page that begins a session, once and within two minutes, at any node of the store. The server's own user,
// whose identity has no access key, always gets one: it replaces the oldest of many.
func (c *Console) Link(ctx context.Context, who Identity) (string, error) {
	if err := c.sweepLinks(ctx, who); err != nil {
		return "", err
	}
	definition, err := json.Marshal(link{who, c.Now().Add(linkTime).Unix()})
	if err != nil {
		return "", err
	}
	id := rand.Text() + rand.Text()
	token := id + "." + c.sign("link", id)
	_, err = c.Rows.PutEntry(ctx, store.Entry{EntryKey: linkKey(linkName(token)), Definition: definition})
	if err != nil {
		return "", fmt.Errorf("keep a sign-in link: %w", err)
	}
	return Prefix + "sign-in?token=" + token, nil
}

// sweepLinks removes the links that are too old, and makes room for one of a caller. It returns [ErrManyLinks] if there is none.
func (c *Console) sweepLinks(ctx context.Context, who Identity) error {
	all, own := 0, 0
	var oldest store.Entry // of the caller
	var ends int64
	for after := linkKey(""); ; {
		rows, err := c.Rows.Entries(ctx, after, maxLinks)
		if err != nil {
			return fmt.Errorf("sign-in links: %w", err)
		}
		for _, row := range rows {
			var l link
			if json.Unmarshal(row.Definition, &l) != nil || c.Now().Unix() >= l.Expires {
				if err := c.dropLink(ctx, row); err != nil {
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
		return c.dropLink(ctx, oldest)
	case own >= maxLinks, all >= maxAllLinks && who.KeyID != "":
		return ErrManyLinks
	}
	return nil
}

func (c *Console) dropLink(ctx context.Context, row store.Entry) error {
	err := c.Rows.DropEntry(ctx, row.EntryKey, row.Version)
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrChanged) {
		return fmt.Errorf("sign-in links: %w", err)
	}
	return nil
}

// LinkFor returns what [Console.Link] returns for an access key, false if there is no such key.
func (c *Console) LinkFor(ctx context.Context, id string) (path string, ok bool, err error) {
	who, ok := c.identityOf(id)
	if !ok {
		return "", false, nil
	}
	path, err = c.Link(ctx, who)
	return path, true, err
}

// useLink takes the link of a token away, and returns whose it is; false if there is none, or it is too old. Tokens that are not
// signed are not looked up.
func (c *Console) useLink(ctx context.Context, token string) (Identity, bool, error) {
	id, seal, _ := strings.Cut(token, ".")
	if !hmac.Equal([]byte(seal), []byte(c.sign("link", id))) {
		return Identity{}, false, nil
	}
	row, err := c.Rows.Entry(ctx, linkKey(linkName(token)))
	if err == nil {
		err = c.Rows.DropEntry(ctx, row.EntryKey, row.Version) // of two who try at once, one does that
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
	return l.Who, c.Now().Unix() < l.Expires, nil
}
