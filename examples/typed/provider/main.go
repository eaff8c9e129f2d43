// Command provider makes accounts: files in a directory, each with a generated password. It shows the tags and types of
// package pintle.
//
//   - Region is immutable: a move replaces the account. The provider makes the new one, and the service deletes the old one.
//   - AdminKey and Password are secrets: no log and no reason shows them, and Fn::GetAtt of the password is masked.
//   - Speed, in requests per second, was formerly called Rate, in requests per minute; Migrate reads the old format.
//
// The environment variable ACCOUNTS_DIR names the directory, an absolute path. The default is a directory in the system's
// temporary directory.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pintle-dev/pintle"
)

// properties are the properties of Custom::Account.
type properties struct {
	AdminKey pintle.Secret `pintle:"required,help='Proves that the template may make accounts'"`
	Region   string        `pintle:"required,immutable,enum=north|south"`
	Quota    int           `pintle:"min=1,max=1000,default=10,help='How many things the account may have'"`
	Rotation int           `pintle:"default=1,help='Another number makes another password'"`
	Speed    float64       `pintle:"min=0.1,max=100,default=1,help='Requests a second'"`
}

// attributes are the values that a template can read.
type attributes struct {
	Login    string
	Password pintle.Secret
}

// account is the contents of a file.
type account struct {
	Region   string
	Quota    int
	Speed    float64
	Rotation int
	Password string
}

// accounts is the provider.
type accounts struct {
	dir      string
	adminKey string
}

func main() {
	dir := os.Getenv("ACCOUNTS_DIR")
	if dir == "" {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("pintle-accounts-%d", os.Getuid()))
	}
	pintle.Main(pintle.For("Custom::Account", pintle.New(accounts{dir, "correct horse battery staple"})))
}

// Validate rejects a wrong AdminKey, which tags cannot check.
func (a accounts) Validate(_ context.Context, r *pintle.ValidateRequest[properties]) error {
	p := r.Properties
	if !p.AdminKey.Equal(pintle.NewSecret(a.adminKey)) {
		return errors.New("AdminKey is wrong")
	}
	return nil
}

// Migrate converts the old property Rate.
func (a accounts) Migrate(_ context.Context, r *pintle.MigrateRequest) error {
	old := r.Properties
	rate, ok := old["Rate"]
	if !ok {
		return nil
	}
	perMinute, err := strconv.ParseFloat(fmt.Sprint(rate), 64)
	if err != nil {
		return errors.New("rate is not a number")
	}
	delete(old, "Rate")
	old["Speed"] = strconv.FormatFloat(perMinute/60, 'g', -1, 64)
	return nil
}

// Create makes the account. Its name is the same when the request is repeated and when a replacement is rolled back, so
// Create finds an existing account.
func (a accounts) Create(_ context.Context, r *pintle.CreateRequest[properties]) (pintle.Response[attributes], error) {
	return a.write(pintle.PhysicalID(r.Properties.Region+"-"+r.Name()), r.Properties)
}

// Update changes the account in place.
func (a accounts) Update(_ context.Context, r *pintle.UpdateRequest[properties]) (pintle.Response[attributes], error) {
	if _, err := a.read(r.ID); err != nil {
		return pintle.Response[attributes]{}, err
	}
	return a.write(r.ID, r.Properties)
}

// Delete closes the account.
func (a accounts) Delete(_ context.Context, r *pintle.DeleteRequest[properties]) error {
	err := os.Remove(a.path(r.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return pintle.ErrGone
	}
	return err
}

// write sets an account to the properties. The password changes only with the rotation.
func (a accounts) write(id pintle.PhysicalID, p properties) (pintle.Response[attributes], error) {
	is, err := a.read(id)
	if err != nil && !errors.Is(err, pintle.ErrGone) {
		return pintle.Response[attributes]{}, err
	}
	if err != nil || is.Rotation != p.Rotation {
		is.Password = rand.Text()
	}
	is.Region, is.Quota, is.Speed, is.Rotation = p.Region, p.Quota, p.Speed, p.Rotation
	text, err := json.MarshalIndent(is, "", "  ")
	if err != nil {
		return pintle.Response[attributes]{}, err
	}
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return pintle.Response[attributes]{}, err
	}
	// After this point the account may exist, so even a failed answer has its ID.
	return pintle.Response[attributes]{
		ID:         id,
		Attributes: attributes{Login: "https://" + is.Region + ".example.com/" + string(id), Password: pintle.NewSecret(is.Password)},
	}, os.WriteFile(a.path(id), text, 0o600)
}

// read returns an account, or pintle.ErrGone if it does not exist.
func (a accounts) read(id pintle.PhysicalID) (account, error) {
	var is account
	text, err := os.ReadFile(a.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return is, pintle.ErrGone
	}
	if err != nil {
		return is, err
	}
	if err := json.Unmarshal(text, &is); err != nil {
		return is, fmt.Errorf("the file of %s: %w", id, pintle.Hide(err)) // the error may quote the password
	}
	return is, nil
}

func (a accounts) path(id pintle.PhysicalID) string {
	return filepath.Join(a.dir, filepath.Base(string(id))+".json")
}
