package metrics_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

const (
	page      = "../../../docs/operating.md"
	alerts    = "../../../deploy/prometheus/alerts.yaml"
	dashboard = "../../../deploy/grafana/pintle.json"
	runbook   = "https://github.com/pintle-dev/pintle/blob/main/docs/operating.md#"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// reported returns the kinds of all metrics of a server, by name.
func reported(t *testing.T) map[string]string {
	t.Helper()
	d := &database{now: time.Now()}
	m := watched(d)
	m.Served("api", 200, time.Second)
	names := map[string]string{}
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(scrape(t, m), -1) {
		names[found[1]] = found[2]
	}
	return names
}

// TestMetricsAreDocumented checks that the documentation has a row with the right kind for each of Pintle's metrics,
// and no other rows.
func TestMetricsAreDocumented(t *testing.T) {
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(pintle_[a-z_]+)(?:\\{[^}`]*\\})?` \\| (\\w+) \\|").FindAllStringSubmatch(read(t, page), -1) {
		documented[row[1]] = row[2]
	}
	names := reported(t)
	for name, kind := range names {
		if strings.HasPrefix(name, "pintle_") && documented[name] != kind {
			t.Errorf("%s, a %s, is documented as %q", name, kind, documented[name])
		}
	}
	for name := range documented {
		if names[name] == "" {
			t.Errorf("%s is documented, and there is no such metric", name)
		}
	}
}

// metricName matches metric names in an expression.
var metricName = regexp.MustCompile(`\b(?:pintle|go|process)_[a-z_]+\b`)

// exist fails the test if a text contains a metric that no server has.
func exist(t *testing.T, where, text string) {
	t.Helper()
	names := reported(t)
	for _, name := range metricName.FindAllString(text, -1) {
		base := name
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			if cut := strings.TrimSuffix(name, part); names[cut] == "histogram" {
				base = cut
			}
		}
		if names[base] == "" {
			t.Errorf("%s asks for %s, which no server tells", where, name)
		}
	}
}

func TestAlerts(t *testing.T) {
	type rule struct {
		Alert, Expr, For    string
		Labels, Annotations map[string]string
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(read(t, alerts)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	var headings []string
	for _, heading := range regexp.MustCompile(`(?m)^### (Pintle\w+)$`).FindAllStringSubmatch(read(t, page), -1) {
		headings = append(headings, heading[1])
	}
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			exist(t, r.Alert, r.Expr)
			if !slices.Contains(headings, r.Alert) || r.Annotations["runbook_url"] != runbook+strings.ToLower(r.Alert) {
				t.Errorf("%s leads to %s, where nothing is said of it", r.Alert, r.Annotations["runbook_url"])
			}
			headings = slices.DeleteFunc(headings, func(h string) bool { return h == r.Alert })
			if !slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) || r.Annotations["summary"] == "" {
				t.Errorf("%s lacks its severity or its summary", r.Alert)
			}
			if strings.Count(r.Expr, "(") != strings.Count(r.Expr, ")") || strings.Count(r.Expr, "{") != strings.Count(r.Expr, "}") {
				t.Errorf("the brackets of %s do not close: %s", r.Alert, r.Expr)
			}
			if r.For != "" {
				if _, err := time.ParseDuration(r.For); err != nil {
					t.Errorf("%s: %v", r.Alert, err)
				}
			}
		}
	}
	if len(headings) > 0 {
		t.Errorf("the runbook has alerts that there are not: %v", headings)
	}
}

// TestAlertsFire checks that the rules fire on their failures only.
func TestAlertsFire(t *testing.T) {
	promtool := require.Tool(t, "promtool")
	dir := t.TempDir()
	for from, name := range map[string]string{alerts: "alerts.yaml", filepath.Join("testdata", "alerts_test.yaml"): "alerts_test.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(read(t, from)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", args[0], err, out)
		}
	}
}

func TestDashboard(t *testing.T) {
	var board struct {
		UID    string
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, dashboard)), &board); err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, panel := range board.Panels {
		if seen[panel.ID] || panel.Title == "" || len(panel.Targets) == 0 {
			t.Errorf("panel %d %q: a second one, or without a title or a query", panel.ID, panel.Title)
		}
		seen[panel.ID] = true
		for _, target := range panel.Targets {
			exist(t, panel.Title, target.Expr)
			if !metricName.MatchString(target.Expr) {
				t.Errorf("%s asks for nothing: %s", panel.Title, target.Expr)
			}
		}
	}
	if len(board.Panels) < 10 || board.UID == "" {
		t.Errorf("%d panels, uid %q", len(board.Panels), board.UID)
	}
}
