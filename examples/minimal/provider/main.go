// Command provider makes text files in the system's temporary directory.
package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/pintle-dev/pintle"
)

type Properties struct {
	Name string `pintle:"required,immutable,pattern=^[a-z0-9-]+$"`
	Text string `pintle:"default=hello"`
}

type Attributes struct{ Path string }

type notes struct{ dir string }

func main() { pintle.Main(pintle.New(notes{os.TempDir()})) }

func (n notes) Create(_ context.Context, r *pintle.CreateRequest[Properties]) (pintle.Response[Attributes], error) {
	return n.write(pintle.PhysicalID("note-"+r.Properties.Name), r.Properties)
}

func (n notes) Update(_ context.Context, r *pintle.UpdateRequest[Properties]) (pintle.Response[Attributes], error) {
	return n.write(r.ID, r.Properties)
}

func (n notes) Delete(_ context.Context, r *pintle.DeleteRequest[Properties]) error {
	err := os.Remove(n.path(r.ID))
	if os.IsNotExist(err) {
		return pintle.ErrGone
	}
	return err
}

func (n notes) write(id pintle.PhysicalID, p Properties) (pintle.Response[Attributes], error) {
	err := os.WriteFile(n.path(id), []byte(p.Text+"\n"), 0o600)
	return pintle.Response[Attributes]{ID: id, Attributes: Attributes{Path: n.path(id)}}, err
}

func (n notes) path(id pintle.PhysicalID) string {
	return filepath.Join(n.dir, filepath.Base(string(id))+".txt")
}
