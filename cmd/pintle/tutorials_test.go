package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// tutorials says how each page of docs/tutorials is followed: in an empty directory, from its first block to its last.
var tutorials = []struct {
	snippet
	cdk bool // it needs the packages of the CDK
}{
	{snippet{page: "check-a-handler.md", needs: []string{"python3"}}, false},
	{snippet{page: "first-provider.md", before: "export GOFLAGS=-mod=mod TMPDIR=$PWD"}, false},
	{snippet{
		page: "cdk-app.md", needs: []string{"python3", "node", "npx", "npm"},
		instead: []string{"npm install aws-cdk-lib@2.276.0 aws-cdk@2.1148.1", `ln -s "$PINTLE_CDK_CLI/node_modules" node_modules`},
	}, true},
	{snippet{page: "ros-template.md", needs: []string{"python3"}}, false},
}

// The blocks of a tutorial: a file has its name in the title, commands are sh, and their output is text.
var tutorialBlock = regexp.MustCompile("(?ms)^```(\\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$")

// TestTutorials follows the tutorials as a reader does, and compares the output with that on the pages.
func TestTutorials(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "tutorials", "*.md"))
	if err != nil || len(files) != len(tutorials) {
		t.Errorf("%d pages and %d rows, %v", len(files), len(tutorials), err)
	}
	for _, tutorial := range tutorials {
		t.Run(strings.TrimSuffix(tutorial.page, ".md"), func(t *testing.T) {
			t.Parallel()
			if tutorial.cdk {
				t.Log("packages:", require.CDKCLI(t))
			}
			script, outputs := followed(t, page(t, "docs/tutorials/"+tutorial.page))
			tutorial.run(t, script)
			for _, output := range outputs {
				output.check(t)
			}
		})
	}
}

// output is the output of the commands of a block, in a file, and the lines of it that the page shows.
type output struct {
	file string
	want string
}

// check looks for the lines in their order. Other text may be between them.
func (o output) check(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(o.file)
	if err != nil {
		t.Errorf("the block before this one was not run:\n%s", o.want)
		return
	}
	rest := string(text)
	for line := range strings.Lines(o.want) {
		line = strings.TrimSpace(line)
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Errorf("the page says that this is printed: %s\nand this was:\n%s", line, text)
			return
		}
		rest = after
	}
}

// followed makes a script of a page, which writes the files and runs the commands. It also returns the outputs that the page shows.
func followed(t *testing.T, text string) (script string, outputs []output) {
	var b strings.Builder
	dir := t.TempDir()
	blocks := tutorialBlock.FindAllStringSubmatch(text, -1)
	if fences := strings.Count(text, "```"); fences != 2*len(blocks) {
		t.Errorf("%d fences, and %d blocks are followed", fences, len(blocks))
	}
	for i, block := range blocks {
		kind, title, content := block[1], block[2], block[3]
		switch {
		case title != "":
			b.WriteString("cat > '" + title + "' <<'PAGE'\n" + content + "PAGE\n")
		case kind == "sh" && i+1 < len(blocks) && blocks[i+1][1] == "text":
			o := output{filepath.Join(dir, fmt.Sprint(i)), blocks[i+1][3]}
			outputs = append(outputs, o)
			b.WriteString(redirected(content, o.file))
		case kind == "sh":
			b.WriteString(content)
		case kind == "text" && i > 0 && blocks[i-1][1] == "sh":
		default:
			t.Errorf("a block of %s is neither a file with a title, nor commands, nor what they print:\n%s", kind, content)
		}
	}
	return b.String(), outputs
}

// redirected lets commands print into a file. What serves goes on and keeps its own output.
func redirected(commands, file string) string {
	var b strings.Builder
	opened := false
	for line := range strings.Lines(commands) {
		if !opened && !strings.HasPrefix(line, "pintle serve") && !strings.HasPrefix(line, "eval ") {
			b.WriteString("exec 3>&1 4>&2 >'" + file + "' 2>&1\n")
			opened = true
		}
		b.WriteString(line)
	}
	return b.String() + "exec >&3 2>&4\n"
}
