package lifecycle

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// row is a row in the document's tables: the client's view, and the messages between the engine and a provider.
type row struct{ client, provider string }

// write renders the visible steps of a transcript.
func (s *scene) write(b *bytes.Buffer) error {
	var rows []row
	for _, step := range s.steps {
		if step.hidden {
			continue
		}
		list, err := step.rows()
		if err != nil {
			return err
		}
		rows = append(rows, list...)
	}
	for _, line := range s.left {
		r, err := rowOf(line)
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	b.WriteString("| the stack | the provider |\n|---|---|\n")
	if s.steps[0].hidden {
		b.WriteString("| … | |\n")
	}
	for _, r := range rows {
		fmt.Fprintf(b, "| %s | %s |\n", r.client, r.provider)
	}
	b.WriteString("\n")
	return nil
}

var (
	requestParts = regexp.MustCompile(`^-> (q\d+) (\w+) (\w+)(?: id=(\S+))? (\{.*?\})(?: was (\{.*\}))?$`)
	answerParts  = regexp.MustCompile(`^<- (q\d+) (.*)$`)
	eventParts   = regexp.MustCompile(`^(\w+) ([A-Z_]+)(?: id=(\S*))?(?: (\{.*?\}))?(?: \(\w+-UUID\))?(?: (".*"))?$`)
	restParts    = regexp.MustCompile(`^([=?]) (\w+) (\w+) id=(\S*)$`)
	setParts     = regexp.MustCompile(`^= ([A-Z_]+) ([A-Z_]+)(?: (".*"))?$`)
	changeParts  = regexp.MustCompile(`^= (Add|Import|Modify|Remove) (\w+)(?: (\w+))?(?: (\w+))?(?:: (.*))?$`)
	refusalParts = regexp.MustCompile(`^! (\w+) (".*")$`)
)

// rows renders a step. An event shares a row with the request that it announces. An answer shares a row with the
// first event that it causes.
func (s step) rows() ([]row, error) {
	first, err := rowOf(s.do)
	if err != nil {
		return nil, err
	}
	rows := []row{first}
	for i, line := range s.want {
		next, err := rowOf(line)
		if err != nil {
			return nil, err
		}
		last := &rows[len(rows)-1]
		switch {
		case strings.HasPrefix(line, "-> ") && last.provider == "" && len(rows) > 1:
			last.provider = next.provider
		case strings.HasPrefix(line, "-> ") && i == 1 && strings.HasPrefix(s.do, "<- "):
			last.provider += "<br>" + next.provider
		case i == 0 && last.client == "" && next.provider == "":
			last.client = next.client
		default:
			rows = append(rows, next)
		}
	}
	return rows, nil
}

func rowOf(line string) (row, error) {
	if part := requestParts.FindStringSubmatch(line); part != nil {
		text := fmt.Sprintf("→ **%s** %s %s", part[1], part[2], part[3]) + code(part[4]) + "<br>" + strings.TrimSpace(code(part[5]))
		if part[6] != "" {
			text += "<br>was" + code(part[6])
		}
		return row{provider: text}, nil
	}
	if part := answerParts.FindStringSubmatch(line); part != nil {
		answer := answerLine.FindStringSubmatch(part[2])
		if answer == nil {
			return row{}, fmt.Errorf("%q is not an answer", line)
		}
		return row{provider: fmt.Sprintf("← **%s** %s", part[1], answer[1]) + code(answer[2]) + below(prose(answer[3])) + code(answer[4])}, nil
	}
	if call, ok := strings.CutPrefix(line, "$ "); ok {
		call = strings.ReplaceAll(call, "-body ", "-body file://")
		return row{client: "**`aws cloudformation " + call + "`**"}, nil
	}
	if remark, ok := strings.CutPrefix(line, "-- "); ok {
		return row{client: "*" + remark + "*"}, nil
	}
	if part := refusalParts.FindStringSubmatch(line); part != nil {
		return row{client: "rejected: " + part[1] + below(prose(part[2]))}, nil
	}
	if part := restParts.FindStringSubmatch(line); part != nil {
		if part[1] == "?" {
			return row{client: fmt.Sprintf("*left behind, %s:* %s", part[3], part[2]) + code(part[4])}, nil
		}
		return row{client: part[2] + " " + part[3] + code(part[4])}, nil
	}
	if part := setParts.FindStringSubmatch(line); part != nil {
		return row{client: part[1] + ", " + part[2] + below(prose(part[3]))}, nil
	}
	if part := changeParts.FindStringSubmatch(line); part != nil {
		text := part[1] + " " + part[2]
		for _, word := range part[3:5] {
			if word != "" {
				text += ", " + word
			}
		}
		return row{client: text + below(strings.ReplaceAll(part[5], ", ", "<br>"))}, nil
	}
	part := eventParts.FindStringSubmatch(line)
	if part == nil {
		return row{}, fmt.Errorf("%q is not a line of a transcript", line)
	}
	return row{client: part[1] + " " + part[2] + code(part[3]) + below(prose(part[5]))}, nil
}

// code renders a text as code after a space, or nothing if it is empty.
func code(text string) string {
	if text == "" {
		return ""
	}
	return " `" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

// below renders a text on its own line, or nothing if it is empty.
func below(text string) string {
	if text == "" {
		return ""
	}
	return "<br>*" + text + "*"
}

// prose renders a quoted text with Markdown characters escaped.
func prose(quoted string) string {
	if quoted == "" {
		return ""
	}
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return quoted
	}
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "|", `\|`, "*", `\*`, "_", `\_`).Replace(strings.TrimSpace(text))
}
