package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// deployFile returns the text of a file below deploy.
func deployFile(t *testing.T, elements ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "deploy"}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// commands returns the tree of commands, as main has it.
func commands() *cobra.Command {
	root := newApp(&shell{variables: variables{func(string) string { return "" }}}).root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// wantCommand fails the test if a command line, without pintle in front, is none.
func wantCommand(t *testing.T, where string, args []string) {
	t.Helper()
	cmd, rest, err := commands().Find(args)
	if err == nil && !cmd.HasParent() {
		err = errors.New("it names no command")
	}
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s: pintle %s: %v", where, strings.Join(args, " "), err)
	}
}

// serveVariables are the variables that pintle serve reads.
func serveVariables(t *testing.T) []string {
	t.Helper()
	cmd, _, err := commands().Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"PINTLE_KEYS"} // a key is not a flag, which others could see
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Annotations[environmentMark] != nil {
			names = append(names, variable(flag.Name))
		}
	})
	return names
}

// wantVariables fails the test if there is a variable of Pintle's that pintle serve does not read.
func wantVariables(t *testing.T, where string, names []string) {
	t.Helper()
	known := serveVariables(t)
	for _, name := range names {
		if strings.HasPrefix(name, "PINTLE_") && !slices.Contains(known, name) {
			t.Errorf("%s sets %s, which pintle serve does not read", where, name)
		}
	}
}

// TestUnit checks that the unit starts an existing command with variables that it reads, and names its data directory once.
func TestUnit(t *testing.T) {
	settings := map[string][]string{}
	for line := range strings.Lines(deployFile(t, "systemd", "pintle.service")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			settings[name] = append(settings[name], value)
		}
	}
	start := strings.Fields(strings.Join(settings["ExecStart"], " "))
	if len(start) == 0 || start[0] != "/usr/local/bin/pintle" {
		t.Fatalf("ExecStart is %q, want the program where docs/install.md puts it", start)
	}
	wantCommand(t, "pintle.service", start[1:])
	var names []string
	for _, assignment := range settings["Environment"] {
		name, value, _ := strings.Cut(assignment, "=")
		names = append(names, name)
		if name == "PINTLE_DATA" && value != "/var/lib/"+settings["StateDirectory"][0] {
			t.Errorf("the data are in %s, and the unit may write to /var/lib/%s", value, settings["StateDirectory"][0])
		}
	}
	if !slices.Contains(names, "PINTLE_DATA") || settings["Type"][0] != "notify" {
		t.Errorf("the unit has the variables %v and Type=%s", names, settings["Type"])
	}
	wantVariables(t, "pintle.service", names)
	// The page about the audit log rotates a file that the unit may write, and signals only the server.
	text := page(t, "docs/operating.md")
	if logs := settings["LogsDirectory"]; len(logs) != 1 || !strings.Contains(text, "\n/var/log/"+logs[0]+"/audit.log {") {
		t.Errorf("the unit may write to %q below /var/log, and docs/operating.md rotates another file", logs)
	}
	for _, kill := range regexp.MustCompile(`systemctl kill [^\n]*`).FindAllString(text, -1) {
		if !strings.Contains(kill, " --kill-who=main ") {
			t.Errorf("docs/operating.md signals provider processes too: %s", kill)
		}
	}
	names = nil
	for _, found := range regexp.MustCompile(`(?m)^#?([A-Z_]+)=`).FindAllStringSubmatch(deployFile(t, "systemd", "pintle.env"), -1) {
		names = append(names, found[1])
	}
	if len(names) == 0 {
		t.Error("pintle.env names no variable")
	}
	wantVariables(t, "pintle.env", names)
}

// systemd takes the unit, and finds it well closed.
func TestUnitAnalyzed(t *testing.T) {
	analyze := require.Tool(t, "systemd-analyze")
	program, err := exec.LookPath("pintle")
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "pintle.service")
	text := strings.Replace(deployFile(t, "systemd", "pintle.service"), "/usr/local/bin/pintle", program, 1)
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", "--man=no", unit}, {"security", "--offline=true", "--threshold=20", unit}} {
		if out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}

// instruction is one of a Containerfile.
type instruction struct{ name, rest string }

func instructions(text string) (list []instruction) {
	text = regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(text, "")
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if name, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			list = append(list, instruction{name, strings.TrimSpace(rest)})
		}
	}
	return list
}

// ignored returns which paths of the repository the builder of containers does not see.
func ignored(t *testing.T) func(path string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	var patterns []*regexp.Regexp
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern := regexp.QuoteMeta(strings.TrimPrefix(line, "/"))
		pattern = strings.ReplaceAll(pattern, `\*\*/`, `(.*/)?`)
		patterns = append(patterns, regexp.MustCompile("^"+strings.ReplaceAll(pattern, `\*`, `[^/]*`)+"(/|$)"))
	}
	return func(path string) bool {
		return slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(path) })
	}
}

// TestWorkflowsArePinned: a tag of an action can be moved to other code, a commit cannot.
func TestWorkflowsArePinned(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no workflows: %v", err)
	}
	files = append(files, "../../action.yml")
	pinned := regexp.MustCompile(`^\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if _, action, found := strings.Cut(strings.TrimSpace(line), "uses: "); found && !pinned.MatchString(action) {
				t.Errorf("%s: %s: want a commit and its version", file, action)
			}
		}
	}
}

// TestContainerfile checks that the container is built from existing files in the build context, and runs an existing command, not as root.
func TestContainerfile(t *testing.T) {
	root := filepath.Join("..", "..")
	hidden := ignored(t)
	var stages []string
	var user, exposed string
	var entry, command []string
	made := map[string]bool{} // files of the last stage
	environment := map[string]string{}
	for _, i := range instructions(deployFile(t, "container", "Containerfile")) {
		words := strings.Fields(i.rest)
		switch i.name {
		case "FROM":
			stages = append(stages, words[len(words)-1])
			clear(made)
		case "COPY":
			source := words[0]
			from := ""
			for strings.HasPrefix(source, "--") {
				if stage, ok := strings.CutPrefix(source, "--from="); ok {
					from = stage
				}
				words = words[1:]
				source = words[0]
			}
			made[words[len(words)-1]] = true
			if from != "" {
				if !slices.Contains(stages, from) {
					t.Errorf("COPY --from=%s: there is no such stage", from)
				}
				continue
			}
			for _, source := range words[:len(words)-1] {
				if _, err := os.Stat(filepath.Join(root, source)); err != nil || hidden(source) {
					t.Errorf("COPY %s: %v, hidden by .dockerignore: %t", source, err, hidden(source))
				}
			}
		case "RUN":
			for _, found := range regexp.MustCompile(`-X main\.(\w+)=`).FindAllStringSubmatch(i.rest, -1) {
				if !slices.Contains([]string{"version", "commit", "date"}, found[1]) {
					t.Errorf("RUN sets main.%s, which there is not", found[1])
				}
			}
		case "USER":
			user = i.rest
		case "EXPOSE":
			exposed = i.rest
		case "ENV":
			for _, word := range words {
				name, value, _ := strings.Cut(word, "=")
				environment[name] = value
			}
		case "ENTRYPOINT":
			entry = regexp.MustCompile(`[^\[\]", ]+`).FindAllString(i.rest, -1)
		case "CMD":
			command = regexp.MustCompile(`[^\[\]", ]+`).FindAllString(i.rest, -1)
		}
	}
	if !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(user) {
		t.Errorf("USER is %q, want the numbers of one who is not root", user)
	}
	if len(entry) != 1 || !made[entry[0]] {
		t.Errorf("ENTRYPOINT is %q, which the last stage does not have", entry)
	}
	wantCommand(t, "Containerfile", command)
	wantVariables(t, "Containerfile", slices.Collect(maps.Keys(environment)))
	if _, port, err := net.SplitHostPort(environment["PINTLE_LISTEN"]); err != nil || port != exposed {
		t.Errorf("it listens at %s and EXPOSEs %s", environment["PINTLE_LISTEN"], exposed)
	}
	if !made[environment["PINTLE_DATA"]] {
		t.Errorf("the data are in %s, which the last stage does not have", environment["PINTLE_DATA"])
	}
	sources, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		`{{if not .Standard}}{{$p := .}}{{range .GoFiles}}{{$p.Dir}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$p.Dir}}/{{.}}{{"\n"}}{{end}}{{end}}`,
		".").Output()
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for path := range strings.Lines(string(sources)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(path), filepath.ToSlash(here)+"/"); ok {
			if ours++; hidden(path) {
				t.Errorf("the program is made of %s, which .dockerignore hides", path)
			}
		}
	}
	if ours == 0 {
		t.Error("go list names no source of ours")
	}
}

// object is a manifest, as far as it is looked at here.
type object struct {
	Kind     string
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	StringData map[string]string `yaml:"stringData"`
	Spec       struct {
		Selector yaml.Node
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
		Ports []struct {
			TargetPort string `yaml:"targetPort"`
		}
		ServiceName          string                                     `yaml:"serviceName"`
		VolumeClaimTemplates []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
	}
}

type pod struct {
	EnableServiceLinks *bool `yaml:"enableServiceLinks"`
	SecurityContext    struct {
		RunAsNonRoot bool `yaml:"runAsNonRoot"`
		RunAsUser    int  `yaml:"runAsUser"`
	} `yaml:"securityContext"`
	Containers []struct {
		Args  []string
		Env   []environmentEntry
		Ports []struct {
			Name          string
			ContainerPort int `yaml:"containerPort"`
		}
		StartupProbe   probe `yaml:"startupProbe"`
		ReadinessProbe probe `yaml:"readinessProbe"`
		LivenessProbe  probe `yaml:"livenessProbe"`
		VolumeMounts   []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
	Volumes []struct {
		Name   string
		Secret *struct {
			SecretName  string      `yaml:"secretName"`
			DefaultMode os.FileMode `yaml:"defaultMode"`
			Items       []struct{ Key, Path string }
		}
	}
}

type environmentEntry struct {
	Name, Value string
	ValueFrom   struct {
		SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
	} `yaml:"valueFrom"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// manifests decodes a file of them.
func manifests(t *testing.T, name string) (list []object) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(deployFile(t, "kubernetes", name)))
	for {
		var o object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, o)
	}
}

// The manifests fit together and fit the program: arguments, variables, ports, paths and secrets.
func TestManifests(t *testing.T) {
	secret := manifests(t, "secret.example.yaml")[0]
	for _, file := range []string{"postgres.yaml", "sqlite.yaml"} {
		t.Run(file, func(t *testing.T) {
			kinds := map[string]object{}
			for _, o := range manifests(t, file) {
				kinds[o.Kind] = o
				if o.Metadata.Name != "pintle" {
					t.Errorf("%s is named %q", o.Kind, o.Metadata.Name)
				}
			}
			workload, ok := kinds["Deployment"]
			if !ok {
				workload = kinds["StatefulSet"]
				if workload.Spec.ServiceName != kinds["Service"].Metadata.Name {
					t.Errorf("the StatefulSet has the service %q", workload.Spec.ServiceName)
				}
			}
			labels := workload.Spec.Template.Metadata.Labels
			for kind, o := range kinds {
				var selector struct {
					MatchLabels map[string]string `yaml:"matchLabels"`
				}
				direct := map[string]string{}
				if kind == "Service" {
					if err := o.Spec.Selector.Decode(&direct); err != nil {
						t.Fatal(err)
					}
				} else if err := o.Spec.Selector.Decode(&selector); err != nil {
					t.Fatal(err)
				}
				maps.Copy(direct, selector.MatchLabels)
				if len(direct) == 0 || !maps.Equal(direct, labels) {
					t.Errorf("%s selects %v, and the pods have %v", kind, direct, labels)
				}
			}
			checkPod(t, file, workload, secret)
			port := workload.Spec.Template.Spec.Containers[0].Ports[0].Name
			if got := kinds["Service"].Spec.Ports[0].TargetPort; got != port {
				t.Errorf("the Service leads to port %q, and the pods have %q", got, port)
			}
		})
	}
}

func checkPod(t *testing.T, file string, workload, secret object) {
	t.Helper()
	p := workload.Spec.Template.Spec
	if p.EnableServiceLinks == nil || *p.EnableServiceLinks || !p.SecurityContext.RunAsNonRoot || p.SecurityContext.RunAsUser == 0 {
		t.Error("the pods get variables of services, or run as root")
	}
	c := p.Containers[0]
	wantCommand(t, file, c.Args)
	environment := map[string]string{}
	for _, entry := range c.Env {
		environment[entry.Name] = entry.Value
		if ref := entry.ValueFrom.SecretKeyRef; ref.Name != "" {
			if ref.Name != secret.Metadata.Name || secret.StringData[ref.Key] == "" {
				t.Errorf("%s comes from %s of the secret %s, which the example does not have", entry.Name, ref.Key, ref.Name)
			}
		}
	}
	wantVariables(t, file, slices.Collect(maps.Keys(environment)))
	if _, port, err := net.SplitHostPort(environment["PINTLE_LISTEN"]); err != nil || port != fmt.Sprint(c.Ports[0].ContainerPort) {
		t.Errorf("it listens at %s, and the container has port %d", environment["PINTLE_LISTEN"], c.Ports[0].ContainerPort)
	}
	if _, port, err := net.SplitHostPort(environment["PINTLE_METRICS"]); err != nil || len(c.Ports) != 2 ||
		c.Ports[1].Name != "metrics" || port != fmt.Sprint(c.Ports[1].ContainerPort) {
		t.Errorf("metrics are at %s, and the container has the ports %v", environment["PINTLE_METRICS"], c.Ports)
	}
	for name, probe := range map[string]probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
		if probe.HTTPGet.Port != c.Ports[0].Name {
			t.Errorf("the probe of %s asks port %q", name, probe.HTTPGet.Port)
		}
	}
	var volumes, written []string
	files := map[string]bool{}
	for _, claim := range workload.Spec.VolumeClaimTemplates {
		volumes = append(volumes, claim.Metadata.Name)
	}
	for _, volume := range p.Volumes {
		volumes = append(volumes, volume.Name)
	}
	for _, mount := range c.VolumeMounts {
		if !slices.Contains(volumes, mount.Name) {
			t.Errorf("%s is mounted and is no volume", mount.Name)
		}
		written = append(written, mount.MountPath)
		for _, volume := range p.Volumes {
			if volume.Name != mount.Name || volume.Secret == nil {
				continue
			}
			if volume.Secret.SecretName != secret.Metadata.Name || volume.Secret.DefaultMode != 0o440 {
				t.Errorf("%s is of the secret %s with mode %o", volume.Name, volume.Secret.SecretName, volume.Secret.DefaultMode)
			}
			for _, item := range volume.Secret.Items {
				if secret.StringData[item.Key] == "" {
					t.Errorf("the example of the secret has no %s", item.Key)
				}
				files[mount.MountPath+"/"+item.Path] = true
			}
		}
	}
	for _, name := range []string{"PINTLE_KEY_FILE", "PINTLE_CREDENTIALS"} {
		if path := environment[name]; path != "" && !files[path] {
			t.Errorf("%s is %s, which no volume has", name, path)
		}
	}
	if data := environment["PINTLE_DATA"]; !slices.ContainsFunc(written, func(path string) bool {
		return data == path || strings.HasPrefix(data, path+"/")
	}) {
		t.Errorf("the data are in %s, where no volume is mounted", data)
	}
}

// TestProbesAndServiceManager checks that a server started as in a pod answers its probes, and notifies a service manager of its start and stop.
func TestProbesAndServiceManager(t *testing.T) {
	dir := t.TempDir()
	workload := manifests(t, "sqlite.yaml")[0]
	c := workload.Spec.Template.Spec.Containers[0]
	cmd := exec.CommandContext(t.Context(), "pintle", c.Args...)
	cmd.Dir = dir
	data := filepath.Join(dir, "volume", "data")
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+filepath.Join(dir, "notify"))
	for _, entry := range c.Env {
		switch entry.Name {
		case "PINTLE_LISTEN", "PINTLE_METRICS":
			entry.Value = "127.0.0.1:0"
		case "PINTLE_DATA":
			entry.Value = data
		}
		cmd.Env = append(cmd.Env, entry.Name+"="+entry.Value)
	}
	next := manager(t, filepath.Join(dir, "notify"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended {
			_ = cmd.Process.Kill() // the failure was reported
			_ = cmd.Wait()
		}
	}()
	url, ok := strings.CutPrefix(next(), "READY=1\nSTATUS=serving at ")
	if !ok {
		t.Fatalf("the first message is no READY:\n%s", &out)
	}
	for _, probe := range []probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		response, err := http.Get(url + probe.HTTPGet.Path)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // only its status is needed
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", probe.HTTPGet.Path, response.Status)
		}
	}
	if out, err := runIn(t, dir, "list", "--data", data); err != nil {
		t.Errorf("a command did not find the server that is ready: %v\n%s", err, out)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := next(); got != "STOPPING=1\nSTATUS=stopping" {
		t.Errorf("the last message is %q", got)
	}
	ended = true
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
}

// manager is a service manager's end of a socket. It returns a function for the next message.
func manager(t *testing.T, socket string) (next func() string) {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return func() string {
		t.Helper()
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		message := make([]byte, 4096)
		n, err := conn.Read(message)
		if err != nil {
			t.Fatal(err)
		}
		return string(message[:n])
	}
}
