// Command provider makes badges for stacks of CloudFormation and ROS: files in the system's temporary directory. It has
// no code for either: the package reads the requests of both and answers each in its own format.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pintle-dev/pintle"
)

type Properties struct {
	Owner string `pintle:"required,pattern=^[a-z]+$"`
	Level int    `pintle:"default=1,min=1,max=9"` // a string in CloudFormation's requests, a number in those of ROS
	Halls []string
}

type Attributes struct {
	Path  string
	Level int
}

type badges struct{ dir string }

func main() { pintle.Main(pintle.New(badges{os.TempDir()})) }

func (b badges) Create(_ context.Context, r *pintle.CreateRequest[Properties]) (pintle.Response[Attributes], error) {
	id := "badge-" + r.StackName + "-" + strings.ToLower(string(r.RequestID))[:8]
	return b.write(pintle.PhysicalID(id), r.Properties)
}

func (b badges) Update(_ context.Context, r *pintle.UpdateRequest[Properties]) (pintle.Response[Attributes], error) {
	return b.write(r.ID, r.Properties)
}

func (b badges) Delete(_ context.Context, r *pintle.DeleteRequest[Properties]) error {
	err := os.Remove(b.path(r.ID))
	if os.IsNotExist(err) {
		return pintle.ErrGone
	}
	return err
}

func (b badges) write(id pintle.PhysicalID, p Properties) (pintle.Response[Attributes], error) {
	text := fmt.Sprintf("%s, level %d, may enter %s\n", p.Owner, p.Level, strings.Join(p.Halls, " and "))
	err := os.WriteFile(b.path(id), []byte(text), 0o600)
	return pintle.Response[Attributes]{ID: id, Attributes: Attributes{Path: b.path(id), Level: p.Level}}, err
}

func (b badges) path(id pintle.PhysicalID) string {
	return filepath.Join(b.dir, filepath.Base(string(id))+".txt")
}
