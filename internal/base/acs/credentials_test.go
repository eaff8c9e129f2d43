package acs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/base/acs"
)

const cliFile = `{"current":"mine","profiles":[
	{"name":"default","mode":"AK","access_key_id":"default-id","access_key_secret":"default-secret","region_id":"cn-hangzhou"},
	{"name":"mine","mode":"StsToken","access_key_id":"mine-id","access_key_secret":"mine-secret","sts_token":"mine-token"},
	{"name":"stale","mode":"AK","access_key_id":"stale-id","access_key_secret":"stale-secret","sts_token":"of no account"},
	{"name":"role","mode":"RamRoleArn","access_key_id":"role-id","access_key_secret":"role-secret","ram_role_arn":"acs:ram::1:role/r"},
	{"name":"empty","mode":"AK"}],"meta_path":""}`

const iniFile = "# mine\n[default]\nenable = true\ntype = access_key\naccess_key_id = ini-id\naccess_key_secret = \"ini-secret\"\n\n" +
	"[sts]\ntype = sts\naccess_key_id=sts-id\naccess_key_secret=sts-secret\nsecurity_token=sts-token\n; else\n[oidc]\ntype=oidc_role_arn\n[half]\naccess_key_id = x\n"

func TestFind(t *testing.T) {
	const cli, ini = ".aliyun/config.json", ".alibabacloud/credentials"
	tests := map[string]struct {
		files map[string]string
		env   map[string]string // HOME is the directory
		want  acs.Credentials
		err   string
	}{
		"environment": {
			files: map[string]string{cli: cliFile},
			env:   map[string]string{"ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"},
			want:  acs.Credentials{ID: "i", Secret: "s"},
		},
		"environment, temporary": {
			env:  map[string]string{"ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s", "ALIBABA_CLOUD_SECURITY_TOKEN": "t"},
			want: acs.Credentials{ID: "i", Secret: "s", Token: "t"},
		},
		"incomplete environment": {
			files: map[string]string{cli: cliFile},
			env:   map[string]string{"ALIBABA_CLOUD_ACCESS_KEY_ID": "i"},
			err:   "ALIBABA_CLOUD_ACCESS_KEY_ID is set and ALIBABA_CLOUD_ACCESS_KEY_SECRET is not",
		},
		"incomplete environment, other variable": {env: map[string]string{"ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"}, err: "ALIBABA_CLOUD_ACCESS_KEY_ID is not"},
		"CLI, its current profile": {
			files: map[string]string{cli: cliFile, ini: iniFile}, want: acs.Credentials{ID: "mine-id", Secret: "mine-secret", Token: "mine-token"},
		},
		"CLI, another profile": {
			files: map[string]string{cli: cliFile}, env: map[string]string{"ALIBABA_CLOUD_PROFILE": "default"},
			want: acs.Credentials{ID: "default-id", Secret: "default-secret"},
		},
		"CLI, token left from another mode": {
			files: map[string]string{cli: cliFile}, env: map[string]string{"ALIBABA_CLOUD_PROFILE": "stale"},
			want: acs.Credentials{ID: "stale-id", Secret: "stale-secret"},
		},
		"CLI, another file": {
			files: map[string]string{"other.json": cliFile}, env: map[string]string{"ALIBABA_CLOUD_CONFIG_FILE": "HOME/other.json"},
			want: acs.Credentials{ID: "mine-id", Secret: "mine-secret", Token: "mine-token"},
		},
		"CLI, a file that is not there": {env: map[string]string{"ALIBABA_CLOUD_CONFIG_FILE": "HOME/other.json"}, err: "HOME/other.json: no such file"},
		"CLI, a role": {
			files: map[string]string{cli: cliFile}, env: map[string]string{"ALIBABA_CLOUD_PROFILE": "role"},
			err: `HOME/.aliyun/config.json: profile role has the mode "RamRoleArn", which takes a call to get keys: use an access key, or put temporary`,
		},
		"CLI, no key": {
			files: map[string]string{cli: cliFile}, env: map[string]string{"ALIBABA_CLOUD_PROFILE": "empty"},
			err: "profile empty has no access key: run aliyun configure --profile empty",
		},
		"CLI, unknown profile": {
			files: map[string]string{cli: cliFile}, env: map[string]string{"ALIBABA_CLOUD_PROFILE": "x"}, err: "it has no profile x",
		},
		"CLI, broken": {files: map[string]string{cli: cliFile[:300]}, err: "it is not the JSON that aliyun configure writes"},
		"CLI, far too long": {
			files: map[string]string{cli: cliFile + strings.Repeat(" ", 2<<20)}, err: "it has more than 1048576 bytes",
		},
		"CLI, switched off": {
			files: map[string]string{cli: cliFile, ini: iniFile}, env: map[string]string{"ALIBABA_CLOUD_CLI_PROFILE_DISABLED": "true"},
			want: acs.Credentials{ID: "ini-id", Secret: "ini-secret"},
		},
		"file": {files: map[string]string{ini: iniFile}, want: acs.Credentials{ID: "ini-id", Secret: "ini-secret"}},
		"file, temporary": {
			files: map[string]string{ini: iniFile}, env: map[string]string{"ALIBABA_CLOUD_PROFILE": "sts"},
			want: acs.Credentials{ID: "sts-id", Secret: "sts-secret", Token: "sts-token"},
		},
		"file in another location": {
			files: map[string]string{"c": iniFile}, env: map[string]string{"ALIBABA_CLOUD_CREDENTIALS_FILE": "HOME/c"},
			want: acs.Credentials{ID: "ini-id", Secret: "ini-secret"},
		},
		"file, a role":               {files: map[string]string{ini: iniFile}, env: map[string]string{"ALIBABA_CLOUD_PROFILE": "oidc"}, err: `has the type "oidc_role_arn", which takes`},
		"file, incomplete":           {files: map[string]string{ini: iniFile}, env: map[string]string{"ALIBABA_CLOUD_PROFILE": "half"}, err: "section [half] has no access_key_id and"},
		"file, missing":              {files: map[string]string{ini: iniFile}, env: map[string]string{"ALIBABA_CLOUD_PROFILE": "x"}, err: "it has no section [x]"},
		"none":                       {err: "ALIBABA_CLOUD_ACCESS_KEY_ID is not set, HOME/.aliyun/config.json is not there, HOME/.alibabacloud/credentials is not there"},
		"no credentials and no user": {env: map[string]string{"HOME": ""}, err: "ALIBABA_CLOUD_ACCESS_KEY_ID is not set, there is no home directory, there is no home directory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for path, text := range test.files {
				path = filepath.Join(home, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := acs.Find(func(name string) string {
				if value, ok := test.env[name]; ok {
					return strings.Replace(value, "HOME", home, 1)
				}
				return map[string]string{"HOME": home}[name]
			})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), home, "HOME"), test.err)) {
				t.Errorf("%v, want %s", err, test.err)
			}
			if err != nil && strings.Contains(err.Error(), "-secret") {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
	if text := fmt.Sprintf("%v %+v %#v", acs.Credentials{ID: "i", Secret: "xyz", Token: "uvw"}, acs.Credentials{ID: "i", Secret: "xyz"}, acs.Credentials{Secret: "xyz"}); strings.Contains(text, "xyz") || strings.Contains(text, "uvw") {
		t.Errorf("shows secrets: %s", text)
	}
}

func FuzzFind(f *testing.F) {
	f.Add(cliFile, "mine")
	f.Add(iniFile, "default")
	f.Fuzz(func(t *testing.T, text, profile string) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, variable := range []string{"ALIBABA_CLOUD_CONFIG_FILE", "ALIBABA_CLOUD_CREDENTIALS_FILE"} {
			c, err := acs.Find(func(name string) string {
				return map[string]string{variable: path, "ALIBABA_CLOUD_PROFILE": profile}[name]
			})
			if err == nil && (c.ID == "" || c.Secret == "") {
				t.Errorf("found half a key in %q", text)
			}
		}
	})
}
