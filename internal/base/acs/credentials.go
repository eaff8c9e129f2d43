package acs

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Credentials are an access key. Secret and Token are secrets.
type Credentials struct {
	ID, Secret string
	// Token is the STS security token of a temporary key, empty for other keys.
	Token string
}

// String returns the ID only.
func (c Credentials) String() string { return "access key " + c.ID }

// GoString is [Credentials.String].
func (c Credentials) GoString() string { return c.String() }

// maxFile limits how many bytes of a credentials file are read.
const maxFile = 1 << 20

// Find returns the credentials that Alibaba Cloud's own tools would use, if it takes no call to get them. It looks in
// the environment, in ~/.aliyun/config.json of the aliyun CLI and in ~/.alibabacloud/credentials, in this order. If
// it finds none, the error lists these places. Errors never quote a file. getenv is [os.Getenv] or similar.
//
// Find does not assume roles or use OIDC, SSO, credential processes or the metadata of an ECS instance. Tools that
// create temporary keys from these put the keys into the environment. Source: Alibaba Cloud, manage access
// credentials, default credential provider chain; CLI, environment variables.
func Find(getenv func(string) string) (Credentials, error) {
	c := Credentials{ID: getenv("ALIBABA_CLOUD_ACCESS_KEY_ID"), Secret: getenv("ALIBABA_CLOUD_ACCESS_KEY_SECRET"), Token: getenv("ALIBABA_CLOUD_SECURITY_TOKEN")}
	switch {
	case c.ID != "" && c.Secret != "":
		return c, nil
	case c.ID != "":
		return Credentials{}, errors.New("ALIBABA_CLOUD_ACCESS_KEY_ID is set and ALIBABA_CLOUD_ACCESS_KEY_SECRET is not")
	case c.Secret != "":
		return Credentials{}, errors.New("ALIBABA_CLOUD_ACCESS_KEY_SECRET is set and ALIBABA_CLOUD_ACCESS_KEY_ID is not")
	}
	places := []string{"ALIBABA_CLOUD_ACCESS_KEY_ID is not set"}
	for _, place := range []struct {
		variable, file string
		read           func(text []byte, profile string) (Credentials, error)
		off            bool
	}{
		{"ALIBABA_CLOUD_CONFIG_FILE", ".aliyun/config.json", fromCLI, strings.EqualFold(getenv("ALIBABA_CLOUD_CLI_PROFILE_DISABLED"), "true")},
		{"ALIBABA_CLOUD_CREDENTIALS_FILE", ".alibabacloud/credentials", fromINI, false},
	} {
		if place.off {
			continue
		}
		path := getenv(place.variable)
		named := path != ""
		if !named {
			home := cmp.Or(getenv("HOME"), getenv("USERPROFILE"))
			if home == "" {
				places = append(places, "there is no home directory")
				continue
			}
			path = filepath.Join(home, filepath.FromSlash(place.file))
		}
		text, err := readFile(path)
		if errors.Is(err, os.ErrNotExist) && !named {
			places = append(places, path+" is not there")
			continue
		}
		if err == nil {
			c, err = place.read(text, getenv("ALIBABA_CLOUD_PROFILE"))
		}
		if err != nil {
			return Credentials{}, fmt.Errorf("%s: %w", path, err)
		}
		return c, nil
	}
	return Credentials{}, errors.New(strings.Join(places, ", "))
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		if failed, ok := errors.AsType[*os.PathError](err); ok {
			err = failed.Err // the message below has the path already
		}
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, errors.New("it cannot be read")
	case len(text) > maxFile:
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	return text, nil
}

// remedy is the advice for credentials that only a call could get.
const remedy = "use an access key, or put temporary keys into ALIBABA_CLOUD_ACCESS_KEY_ID, ALIBABA_CLOUD_ACCESS_KEY_SECRET and ALIBABA_CLOUD_SECURITY_TOKEN"

// fromCLI reads the configuration of the aliyun CLI.
func fromCLI(text []byte, profile string) (Credentials, error) {
	var config struct {
		Current  string `json:"current"`
		Profiles []struct {
			Name   string `json:"name"`
			Mode   string `json:"mode"`
			ID     string `json:"access_key_id"`
			Secret string `json:"access_key_secret"`
			Token  string `json:"sts_token"`
		} `json:"profiles"`
	}
	if json.Unmarshal(text, &config) != nil {
		return Credentials{}, errors.New("it is not the JSON that aliyun configure writes")
	}
	profile = cmp.Or(profile, config.Current, "default")
	for _, p := range config.Profiles {
		if p.Name != profile {
			continue
		}
		switch {
		case p.Mode != "AK" && p.Mode != "StsToken" && p.Mode != "":
			return Credentials{}, fmt.Errorf("profile %s has the mode %.40q, which takes a call to get keys: %s", profile, p.Mode, remedy)
		case p.ID == "" || p.Secret == "":
			return Credentials{}, fmt.Errorf("profile %s has no access key: run aliyun configure --profile %[1]s", profile)
		case p.Mode == "StsToken":
			return Credentials{p.ID, p.Secret, p.Token}, nil
		}
		return Credentials{ID: p.ID, Secret: p.Secret}, nil
	}
	return Credentials{}, fmt.Errorf("it has no profile %s: set ALIBABA_CLOUD_PROFILE to one that it has", profile)
}

// fromINI reads a file of sections with lines "name = value".
func fromINI(text []byte, profile string) (Credentials, error) {
	profile = cmp.Or(profile, "default")
	values, here, found := map[string]string{}, false, false
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxFile+1)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if section, ok := strings.CutPrefix(line, "["); ok {
			here = strings.TrimSpace(strings.TrimSuffix(section, "]")) == profile
			found = found || here
			continue
		}
		if name, text, ok := strings.Cut(line, "="); ok && here {
			values[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(text), `"`)
		}
	}
	c := Credentials{ID: values["access_key_id"], Secret: values["access_key_secret"]}
	if values["type"] != "access_key" {
		c.Token = values["security_token"]
	}
	switch kind := values["type"]; {
	case !found:
		return Credentials{}, fmt.Errorf("it has no section [%s]: set ALIBABA_CLOUD_PROFILE to one that it has", profile)
	case kind != "" && kind != "access_key" && kind != "sts":
		return Credentials{}, fmt.Errorf("section [%s] has the type %.40q, which takes a call to get keys: %s", profile, kind, remedy)
	case c.ID == "" || c.Secret == "":
		return Credentials{}, fmt.Errorf("section [%s] has no access_key_id and access_key_secret", profile)
	}
	return c, nil
}
