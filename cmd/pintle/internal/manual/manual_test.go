package manual

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func tree() *cobra.Command {
	root := &cobra.Command{Use: "ship", Short: "Sail"}
	run := func(*cobra.Command, []string) {}
	turn := &cobra.Command{
		Use: "turn SIDE", Short: "Turn the ship's rudder", Run: run,
		Long: "Turn it. What\nis not 'port' is starboard:\n\n  ship turn port    # to the left\n  .hidden \\n\n\n.It stays so.",
	}
	turn.Flags().StringP("by", "b", "", "`DEGREES` to turn by (default: 5-10)")
	turn.Flags().Bool("now", false, "do not wait")
	secret := &cobra.Command{Use: "sink", Hidden: true, Run: run}
	root.AddCommand(turn, secret)
	return root
}

func TestPages(t *testing.T) {
	dir := t.TempDir()
	date := time.Date(2026, 11, 23, 23, 0, 0, 0, time.UTC)
	if err := Write(tree(), Header{Source: "ship v1.0.0", Date: date}, dir); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	if diff := cmp.Diff([]string{"ship-turn.1", "ship.1"}, files); diff != "" {
		t.Error(diff)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ship-turn.1"))
	if err != nil {
		t.Fatal(err)
	}
	want := `.\" Made by pintle man from the command's help.
.TH "SHIP\-TURN" 1 "2026\-11\-23" "ship v1.0.0"
.SH NAME
ship\-turn \- Turn the ship\(aqs rudder
.SH SYNOPSIS
\fBship turn SIDE [flags]\fR
.SH DESCRIPTION
Turn it. What
is not \(aqport\(aq is starboard:
.PP
.RS 2
.nf
ship turn port    # to the left
\&.hidden \en
.fi
.RE
.PP
\&.It stays so.
.SH OPTIONS
.TP
\fB\-b\fR, \fB\-\-by\fR \fIDEGREES\fR
DEGREES to turn by (default: 5\-10)
.TP
\fB\-h\fR, \fB\-\-help\fR
help for turn
.TP
\fB\-\-now\fR
do not wait
.SH SEE ALSO
.BR ship (1)
`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "ship.1")); err != nil || !strings.Contains(string(text), ".BR ship\\-turn (1)\n") {
		t.Errorf("%v: the first page does not name the other:\n%s", err, text)
	}
}

func TestMissingDirectory(t *testing.T) {
	if err := Write(tree(), Header{}, filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("pages were written into a folder that is not there")
	}
}
