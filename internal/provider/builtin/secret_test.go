package builtin

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/provider/project"
)

// hush is the value of a NoEcho parameter. The template sends it, and errors contain it.
const hush = `open "sesame" + 7`

// revealing is a service that returns everything it knows, including the secrets of requests, as some do for a wrong
// signature.
func revealing(fails bool) func(action string, r *http.Request, body string) (int, string) {
	return func(action string, r *http.Request, body string) (int, string) {
		switch {
		case action == "AssumeRole":
			return http.StatusOK, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ROLE</AccessKeyId><SecretAccessKey>` + roleSecret +
				`</SecretAccessKey><SessionToken>` + roleToken + `</SessionToken></Credentials></AssumeRoleResult></AssumeRoleResponse>`
		case action == "GetSessionToken":
			return http.StatusOK, `<GetSessionTokenResponse><GetSessionTokenResult><Credentials><AccessKeyId>OTHER</AccessKeyId><SecretAccessKey>` + roleSecret +
				`</SecretAccessKey><SessionToken>` + roleToken + `</SessionToken></Credentials></GetSessionTokenResult></GetSessionTokenResponse>`
		case fails:
			_, signed, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
			key := ownSecret
			if strings.Contains(r.Header.Get("Authorization"), "Credential=ROLE/") {
				key = roleSecret
			}
			reported := strings.Join([]string{"you sent", hush, r.Header.Get("X-Amz-Security-Token"), signed, "made with", key}, " ")
			return http.StatusBadRequest, fmt.Sprintf(`{"__type":"ValidationException","message":%q}`, reported)
		}
		return http.StatusOK, fmt.Sprintf(`{"Parameter":{"Name":"/a","Value":%q}}`, hush)
	}
}

// TestSecrets checks that no log of the provider or the runtime contains a secret of the process, a role, a template or
// the response URL.
func TestSecrets(t *testing.T) {
	for _, fails := range []bool{false, true} {
		s := newServices(t, revealing(fails))
		surroundings(t, "", map[string]string{"AWS_ENDPOINT_URL": s.url, "AWS_SESSION_TOKEN": ownToken})
		k := newKit(t, AWS{Allow: []project.Allow{{Calls: "*:*", Roles: []string{"*"}}}})
		for _, logged := range []bool{true, false} {
			for _, role := range []string{"", "arn:aws:iam::210987654321:role/there"} {
				for _, pattern := range []string{"", "Validation"} {
					id := fmt.Sprintf("r-%t-%d-%d", logged, len(role), len(pattern))
					call := m{"service": "SSM", "action": "putParameter", "logApiResponseData": logged, "assumedRoleArn": role, "ignoreErrorCodesMatching": pattern,
						"parameters": m{"Name": "/a", "Value": hush, "Nonsense": hush, "Tags": []any{m{"Key": "k", "Value": hush, "More": hush}}}}
					if role != "" {
						call["externalId"] = hush
					}
					answer := k.handle(id, m{"ResourceProperties": m{"Create": asText(t, call)}}, hush)
					want := "SUCCESS"
					if fails && pattern == "" {
						want = "FAILED"
					}
					if answer["Status"] != want {
						t.Errorf("%s: answered %v, want %s", id, answer, want)
					}
					// The engine redacts the template's secrets in a reason. It does not know these.
					for _, secret := range []string{ownSecret, ownToken, roleSecret, roleToken} {
						if reason := fmt.Sprint(answer["Reason"]); strings.Contains(reason, secret) {
							t.Errorf("%s: the reason has a secret: %s", id, reason)
						}
					}
					log := k.log(id)
					for _, line := range []string{"msg=calling", `parameters="Nonsense, Tags[0].More"`, "status=" + want} {
						if !strings.Contains(log, line) {
							t.Errorf("%s: the log has no %s:\n%s", id, line, log)
						}
					}
				}
			}
		}
		// The names of attributes may be logged; their values must not.
		for _, logged := range []bool{true, false} {
			id := fmt.Sprintf("names-%t", logged)
			call := m{"service": "STS", "action": "getSessionToken", "logApiResponseData": logged}
			answer := k.handle(id, m{"ResourceProperties": m{"Create": asText(t, call)}})
			if answer["Status"] != "SUCCESS" {
				t.Errorf("answered %v", answer)
			}
			if got := strings.Contains(k.log(id), "Credentials.SecretAccessKey"); got != logged {
				t.Errorf("names are in the log: %t, want %t:\n%s", got, logged, k.log(id))
			}
		}
		if len(s.requests()) < 10 {
			t.Errorf("the service was asked %v", s.requests())
		}
		all := k.everything()
		for _, secret := range []string{ownSecret, ownToken, roleSecret, roleToken, hush, signature, "X-Amz-Signature=0"} {
			for _, spelling := range []string{secret, strings.ReplaceAll(secret, `"`, `\"`), url.QueryEscape(secret), url.PathEscape(secret)} {
				if strings.Contains(all, spelling) {
					t.Errorf("%q was written:\n%s", spelling, all)
				}
			}
		}
	}
}
