package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pintle-dev/pintle"
)

// keeper is the provider of the scripts. It keeps each resource as a file of the directory SHELF, so that scripts can check
// its state: the file has the name Name, the physical ID, and the content Text. Another Name is another resource.
//
// It refuses bad words, and requests that a file in SHELF/refuse names: "Delete-Site" has the reason for refusing to delete Site.
// It appends a line for every request to SHELF/journal. If Wait is the type of the request, it waits for the script.
func keeper() {
	shelf := os.Getenv("SHELF")
	pintle.Main(pintle.HandlerFunc(func(_ context.Context, r *pintle.Request) (pintle.Answer, error) {
		var p struct{ Name, Text, Wait string }
		if err := r.Decode(&p); err != nil {
			return pintle.Answer{}, err
		}
		if err := note(shelf, fmt.Sprintln(r.Type, r.LogicalID, r.ID, p.Text)); err != nil {
			return pintle.Answer{}, err
		}
		answer := pintle.Answer{ID: r.ID, Attributes: map[string]any{"Text": p.Text}}
		if answer.ID == "" {
			answer.ID = pintle.PhysicalID(p.Name)
		}
		if p.Wait == string(r.Type) {
			if p.Text == "aloud" { // it waits twice, and prints a line each time
				fmt.Println(r.LogicalID, "is half done")
				attend(string(r.LogicalID))
				fmt.Println(r.LogicalID, "is nearly done")
			}
			attend(string(r.LogicalID))
		}
		why, err := os.ReadFile(filepath.Join(shelf, "refuse", string(r.Type)+"-"+string(r.LogicalID)))
		switch {
		case err == nil:
			return answer, errors.New(strings.TrimSpace(string(why)))
		case r.Type == pintle.Delete:
			err := os.Remove(filepath.Join(shelf, filepath.Base(string(r.ID))))
			if errors.Is(err, fs.ErrNotExist) {
				err = nil // it never existed
			}
			return answer, err
		case strings.Contains(p.Text, "bad"):
			return answer, errors.New("I do not keep bad words")
		}
		answer.ID, answer.Replaces = pintle.PhysicalID(p.Name), r.Type == pintle.Update
		return answer, os.WriteFile(filepath.Join(shelf, p.Name), []byte(p.Text+"\n"), 0o600)
	}))
}

func note(shelf, line string) error {
	journal, err := os.OpenFile(filepath.Join(shelf, "journal"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = journal.WriteString(line)
	return errors.Join(err, journal.Close())
}
