// Command provider makes accounts: files in a directory, each with a password that it thinks up. It shows what the tags and
// types of the package pintle are for.
//
//   - Region is immutable: an account that moves is a new one. The provider makes it, the service deletes the old one.
//   - AdminKey and Password are secrets: no log and no reason shows them, and Fn::GetAtt of the password is masked.
//   - Speed, in requests a second, was once called Rate, in requests a minute; Migrate reads stacks of that time.
//
// The directory is that of the environment variable ACCOUNTS_DIR, an absolute path, or else one in the system's temporary
// directory.
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

// properties are those of Custom::Account.
type properties struct {
	AdminKey pintle.Secret `pintle:"required,help='Proves that the template may make accounts'"`
	Region   string        `pintle:"required,immutable,enum=north|south"`
	Quota    int           `pintle:"min=1,max=1000,default=10,help='How many things the account may have'"`
	Rotation int           `pintle:"default=1,help='Another number makes another password'"`
	Speed    float64       `pintle:"min=0.1,max=100,default=1,help='Requests a second'"`
}

// attributes are what a template can read.
type attributes struct {
	Login    string
	Password pintle.Secret
}

// account is what is in a file.
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

// Validate refuses who may not make accounts. The tags cannot say that.
func (a accounts) Validate(_ context.Context, r *pintle.ValidateRequest[properties]) error {
	p := r.Properties
	if !p.AdminKey.Equal(pintle.NewSecret(a.adminKey)) {
		return errors.New("AdminKey is wrong")
	}
	return nil
}

// Migrate knows the property Rate.
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

// Create makes the account of the request. Its name follows from what is the same when the request is repeated, and
// when a replacement is rolled back, so it finds what is there.
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

// write brings an account to what the properties say. The password stays while the rotation does.
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
	// From here on there may be an account, so the answer has its ID, also when it is a failure.
	return pintle.Response[attributes]{
		ID:         id,
		Attributes: attributes{Login: "https://" + is.Region + ".example.com/" + string(id), Password: pintle.NewSecret(is.Password)},
	}, os.WriteFile(a.path(id), text, 0o600)
}

// read returns an account; pintle.ErrGone if there is none.
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
