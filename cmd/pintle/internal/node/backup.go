package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
)

// Backup makes a consistent copy of the data directory from at into, while an engine may use from. The copy has the database, the
// credentials file and the port. It has the key file only if keys is true, because anyone with both can read
// the secrets. The copy is atomic. Backup returns an error if into exists.
func Backup(ctx context.Context, from, into string, keys bool) (err error) {
	if entries, err := os.ReadDir(into); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty", into)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if text, err := os.ReadFile(filepath.Join(from, elsewhereFile)); err == nil {
		return fmt.Errorf("its stacks are in the database %s: back it up with PostgreSQL's own tools", strings.TrimSpace(string(text)))
	}
	into = filepath.Clean(into)
	if err := os.MkdirAll(filepath.Dir(into), 0o700); err != nil {
		return err
	}
	draft := filepath.Join(filepath.Dir(into), "."+filepath.Base(into)+"."+rand.Text())
	if err := os.Mkdir(draft, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(draft))
		}
	}()
	if err := sqlite.Backup(ctx, filepath.Join(from, databaseFile), filepath.Join(draft, databaseFile)); err != nil {
		return err
	}
	for _, name := range []string{credentialsFile, portFile, keysFile} {
		if name == keysFile && !keys {
			continue
		}
		err := copySmall(filepath.Join(from, name), filepath.Join(draft, name))
		if err != nil && (name == keysFile || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	if err := syncDirectory(draft); err != nil {
		return err
	}
	if err := os.Rename(draft, into); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(into))
}

// Verify checks the database of a data directory, or of a copy of one, and returns its problems. keys are
// those of the database; the zero source is the key file of the directory. Without keys, sealed values are not checked, and whole is false.
func Verify(ctx context.Context, dir string, keys KeySource) (problems []string, whole bool, err error) {
	if keys == (KeySource{}) {
		keys.File = KeyFile(dir)
		if _, err := os.Stat(keys.File); errors.Is(err, fs.ErrNotExist) {
			problems, err = sqlite.Verify(ctx, filepath.Join(dir, databaseFile), store.Codec{})
			return problems, false, err
		}
	}
	known, err := keys.open(ctx, func(context.Context) (bool, string, error) { return true, "the database", nil })
	if err != nil {
		return nil, false, err
	}
	problems, err = sqlite.Verify(ctx, filepath.Join(dir, databaseFile), store.NewCodec(known))
	return problems, true, err
}

// copySmall copies a small file to a new one that only its owner can read, durably.
func copySmall(from, into string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // read only
	copied, err := os.OpenFile(into, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	written, err := io.Copy(copied, io.LimitReader(source, maxCredentials+1))
	if err == nil && written > maxCredentials {
		err = fmt.Errorf("%s is longer than %d bytes", from, maxCredentials)
	}
	return errors.Join(err, copied.Sync(), copied.Close())
}

// maxCredentials bounds the files that are copied next to the database.
const maxCredentials = 1 << 20

func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
