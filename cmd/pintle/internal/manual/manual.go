// Package manual writes manual pages in the format of man(7) from the help of each command. What stands indented in
// a help text keeps its lines; so examples and tables look as they do there.
package manual

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Header has the header and footer texts of all pages.
type Header struct {
	// Source is the program and its version, at the foot.
	Source string
	// Date is the day at the foot; the zero Date leaves it empty.
	Date time.Time
}

// Write writes the pages of root and of all commands below it that are not hidden into the directory dir, which must be there: a
// page "a b" is named a-b.1.
func Write(root *cobra.Command, header Header, dir string) error {
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			if err := Write(cmd, header, dir); err != nil {
				return err
			}
		}
	}
	file, err := os.Create(filepath.Join(dir, name(root)+".1"))
	if err != nil {
		return err
	}
	if err := Page(file, root, header); err != nil {
		_ = file.Close() // the write error matters more
		return err
	}
	return file.Close()
}

// Page writes the page of one command.
func Page(w io.Writer, cmd *cobra.Command, header Header) error {
	cmd.InitDefaultHelpFlag()
	var p page
	day := ""
	if !header.Date.IsZero() {
		day = header.Date.UTC().Format(time.DateOnly)
	}
	p.line(`.\" Made by pintle man from the command's help.`)
	p.line(".TH %s 1 %s %s", quoted(strings.ToUpper(name(cmd))), quoted(day), quoted(header.Source))
	p.line(".SH NAME")
	p.line(`%s \- %s`, escaped(name(cmd)), escaped(cmd.Short))
	p.line(".SH SYNOPSIS")
	p.line(`\fB%s\fR`, escaped(cmd.UseLine()))
	p.line(".SH DESCRIPTION")
	description := cmd.Long
	if description == "" {
		description = cmd.Short + "."
	}
	p.text(description)
	p.flags("OPTIONS", cmd.NonInheritedFlags())
	p.flags("OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	p.commands(cmd)
	_, err := io.WriteString(w, p.String())
	return err
}

// page is the text of a page as it grows.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// text writes paragraphs. It copies indented text unchanged.
func (p *page) text(text string) {
	kept := false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		switch {
		case line == "":
			if kept {
				p.line(".fi")
				p.line(".RE")
			}
			kept = false
			p.line(".PP")
			continue
		case indented && !kept:
			p.line(".RS 2")
			p.line(".nf")
		case !indented && kept:
			p.line(".fi")
			p.line(".RE")
		}
		kept = indented
		if kept {
			line = strings.TrimPrefix(line, "  ")
		}
		p.line("%s", escaped(line))
	}
	if kept {
		p.line(".fi")
		p.line(".RE")
	}
}

func (p *page) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.line(".SH %s", title)
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(flag)
		head := `\fB` + escaped("--"+flag.Name) + `\fR`
		if flag.Shorthand != "" {
			head = `\fB` + escaped("-"+flag.Shorthand) + `\fR, ` + head
		}
		if value != "" {
			head += ` \fI` + escaped(value) + `\fR`
		}
		p.line(".TP")
		p.line("%s", head)
		p.line("%s", escaped(usage))
	})
}

// commands names the pages next to this one: that of the command above, and those below.
func (p *page) commands(cmd *cobra.Command) {
	var names []string
	if cmd.HasParent() {
		names = append(names, name(cmd.Parent()))
	}
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, name(below))
		}
	}
	if len(names) == 0 {
		return
	}
	p.line(".SH SEE ALSO")
	for i, name := range names {
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		p.line(".BR %s (1)%s", escaped(name), comma)
	}
}

func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// escaped keeps roff from reading commands in a text.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

// quoted is one argument of a macro.
func quoted(text string) string { return `"` + strings.ReplaceAll(escaped(text), `"`, `\(dq`) + `"` }
