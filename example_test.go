package pintle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/pintle-dev/pintle"
)

// FolderProperties are the properties of a directory. Its path cannot change: another path is another directory.
type FolderProperties struct {
	Path string `pintle:"required,immutable,pattern=^/"`
	Open bool   `pintle:"help='Whether others may look inside'"`
}

type FolderAttributes struct{ Path string }

// folders is a provider of directories. The physical ID is the path.
type folders struct{}

func (f folders) Create(_ context.Context, r *pintle.CreateRequest[FolderProperties]) (pintle.Response[FolderAttributes], error) {
	if err := os.MkdirAll(r.Properties.Path, 0o700); err != nil {
		return pintle.Response[FolderAttributes]{}, err // nothing was made
	}
	return f.open(r.Properties)
}

func (f folders) Update(_ context.Context, r *pintle.UpdateRequest[FolderProperties]) (pintle.Response[FolderAttributes], error) {
	return f.open(r.Properties)
}

func (folders) Delete(_ context.Context, r *pintle.DeleteRequest[FolderProperties]) error {
	err := os.Remove(string(r.ID)) // only if it is empty
	if errors.Is(err, fs.ErrNotExist) {
		return pintle.ErrGone
	}
	return err
}

func (folders) open(p FolderProperties) (pintle.Response[FolderAttributes], error) {
	mode := fs.FileMode(0o700)
	if p.Open {
		mode = 0o755
	}
	// The error comes with the ID, because the directory exists.
	return pintle.Response[FolderAttributes]{ID: pintle.PhysicalID(p.Path), Attributes: FolderAttributes{p.Path}}, os.Chmod(p.Path, mode)
}

func ExampleNew() {
	pintle.Main(pintle.New(folders{}))
}

func ExampleFor() {
	pintle.Main(
		pintle.For("Custom::Folder", pintle.New(folders{})),
		pintle.For("Custom::Clock", pintle.HandlerFunc(func(context.Context, *pintle.Request) (pintle.Answer, error) {
			return pintle.Answer{Attributes: map[string]any{"Time": time.Now().UTC()}}, nil
		})),
	)
}

// A handler of raw requests.
func ExampleHandlerFunc() {
	pintle.Main(pintle.HandlerFunc(func(_ context.Context, r *pintle.Request) (pintle.Answer, error) {
		var props struct{ Name string }
		if err := r.Decode(&props); err != nil {
			return pintle.Answer{}, err
		}
		switch r.Type {
		case pintle.Create, pintle.Update:
			return pintle.Answer{ID: pintle.PhysicalID(props.Name), Attributes: map[string]any{"Length": len(props.Name)}}, nil
		case pintle.Delete:
			return pintle.Answer{}, nil
		case pintle.Read, pintle.Plan: // a function never gets them
		}
		return pintle.Answer{}, fmt.Errorf("unknown request %q", r.Type)
	}))
}

// A provider in an existing HTTP server.
func ExampleServer() {
	provider, err := pintle.NewServer(pintle.ServerConfig{Handlers: []pintle.Handler{pintle.New(folders{})}})
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("POST /folders", provider)
}

// A provider with the configuration from its environment, and a larger store.
func ExampleRunConfigFromEnvironment() {
	c, err := pintle.RunConfigFromEnvironment(pintle.New(folders{}))
	if err != nil {
		log.Fatal(err)
	}
	if c.Idempotency, err = pintle.NewMemoryStore(100_000); err != nil {
		log.Fatal(err)
	}
	if err := pintle.Run(context.Background(), c); err != nil {
		log.Fatal(err)
	}
}

func ExampleSecret() {
	secret := pintle.NewSecret("swordfish")
	text, _ := json.Marshal(map[string]any{"password": secret})
	fmt.Println(secret, string(text), len(secret.Reveal()))
	// Output: **** {"password":"****"} 9
}

func ExampleHide() {
	err := pintle.Hide(errors.New("cannot connect to postgres://admin:swordfish@db"))
	fmt.Println(fmt.Errorf("create user: %w", err))
	// Output: create user: the details are in the log of the provider
}
