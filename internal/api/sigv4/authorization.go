package sigv4

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	algorithm  = "AWS4-HMAC-SHA256"
	terminator = "aws4_request"

	// basicTime is the layout of X-Amz-Date.
	basicTime = "20060102T150405Z"

	maxAuthorization = 8 << 10 // bytes of the header
	maxSignedHeaders = 100
	maxScopePart     = 128 // bytes of an access key id, a region or a service
)

// authorization is a parsed Authorization header.
type authorization struct {
	keyID, date, region, service string   // of the credential scope
	signedHeaders                []string // lower case, sorted, including "host"
	signedList                   string   // the same, as sent
	signature                    []byte   // 32 bytes
}

// parseAuthorization parses the values of the Authorization header. Its errors never quote the header.
func parseAuthorization(values []string) (authorization, error) {
	if len(values) == 0 || values[0] == "" {
		return authorization{}, refuse("MissingAuthenticationToken", http.StatusForbidden, "Request is missing Authentication Token")
	}
	if len(values) > 1 {
		return authorization{}, incomplete("The Authorization header is given more than once.")
	}
	if len(values[0]) > maxAuthorization {
		return authorization{}, incomplete("The Authorization header is too long.")
	}
	rest, ok := strings.CutPrefix(values[0], algorithm)
	if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return authorization{}, incomplete("Unsupported algorithm in the Authorization header: sign with " + algorithm + ".")
	}
	params, err := parseParams(rest)
	if err != nil {
		return authorization{}, err
	}
	var auth authorization
	if err := auth.setCredential(params["Credential"]); err != nil {
		return authorization{}, err
	}
	if err := auth.setSignedHeaders(params["SignedHeaders"]); err != nil {
		return authorization{}, err
	}
	auth.signature, err = hex.DecodeString(params["Signature"])
	if err != nil || len(auth.signature) != 32 {
		return authorization{}, incomplete("The Signature in the Authorization header is not 64 hexadecimal digits.")
	}
	return auth, nil
}

// parseParams parses the comma-separated parameters after the algorithm. All three are required and must not be empty.
func parseParams(text string) (map[string]string, error) {
	params := make(map[string]string, 3)
	if strings.TrimSpace(text) != "" {
		for part := range strings.SplitSeq(text, ",") {
			name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
			if !ok {
				return nil, incomplete("A parameter of the Authorization header is not a valid key=value pair (missing equal-sign).")
			}
			if !slices.Contains([]string{"Credential", "SignedHeaders", "Signature"}, name) || params[name] != "" {
				return nil, incomplete("The Authorization header takes Credential, SignedHeaders and Signature, once each.")
			}
			params[name] = value
		}
	}
	var missing []string
	for _, name := range []string{"Credential", "Signature", "SignedHeaders"} {
		if params[name] == "" {
			missing = append(missing, "Authorization header requires '"+name+"' parameter.")
		}
	}
	if missing != nil {
		return nil, incomplete(strings.Join(missing, " "))
	}
	return params, nil
}

// setCredential parses <key id>/<date>/<region>/<service>/aws4_request.
func (a *authorization) setCredential(text string) error {
	parts := strings.Split(text, "/")
	if len(parts) != 5 {
		return incomplete("Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.")
	}
	if parts[4] != terminator {
		return mismatch("Credential should be scoped with a valid terminator: '" + terminator + "'.")
	}
	if !isWord(parts[0], "-_.+@=", maxScopePart) || !isWord(parts[2], "-", maxScopePart) || !isWord(parts[3], "-_.", maxScopePart) {
		return incomplete("Credential must hold a key id, a region and a service of letters, digits and hyphens.")
	}
	if _, err := time.Parse("20060102", parts[1]); err != nil {
		return incomplete("The date in Credential must be given as YYYYMMDD.")
	}
	a.keyID, a.date, a.region, a.service = parts[0], parts[1], parts[2], parts[3]
	return nil
}

func (a *authorization) setSignedHeaders(list string) error {
	names := strings.Split(list, ";")
	if len(names) > maxSignedHeaders {
		return incomplete("SignedHeaders lists too many headers.")
	}
	for i, name := range names {
		if name == "" || name != strings.ToLower(name) || strings.ContainsAny(name, " \t\r\n:") {
			return incomplete("SignedHeaders must list header names in lower case, separated by semicolons.")
		}
		if i > 0 && names[i-1] >= name {
			return incomplete("SignedHeaders must be sorted, each name once.")
		}
	}
	if _, found := slices.BinarySearch(names, "host"); !found {
		return mismatch("'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")
	}
	a.signedHeaders, a.signedList = names, list
	return nil
}

// isWord reports whether text is 1 to most bytes of ASCII letters, digits and the extra characters.
func isWord(text, extra string, most int) bool {
	if text == "" || len(text) > most {
		return false
	}
	return !strings.ContainsFunc(text, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune(extra, c))
	})
}

// checkSigned rejects unsigned x-amz headers, which a proxy could have added.
func checkSigned(auth authorization, header http.Header) error {
	for name := range header {
		lower := strings.ToLower(name)
		if !strings.HasPrefix(lower, "x-amz-") {
			continue
		}
		if _, found := slices.BinarySearch(auth.signedHeaders, lower); !found {
			return refuse("AccessDenied", http.StatusForbidden, "There were headers present in the request which were not signed: sign every x-amz header.")
		}
	}
	return nil
}

// requestTime returns the time of the X-Amz-Date header, or else of the Date header.
func requestTime(header http.Header) (time.Time, error) {
	if text := header.Get("X-Amz-Date"); text != "" {
		at, err := time.Parse(basicTime, text)
		if err != nil {
			return time.Time{}, incomplete("The X-Amz-Date header must be given as YYYYMMDD'T'HHMMSS'Z'.")
		}
		return at, nil
	}
	text := header.Get("Date")
	if text == "" {
		return time.Time{}, incomplete("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
	}
	at, err := time.Parse(basicTime, text)
	if err != nil {
		at, err = http.ParseTime(text)
	}
	if err != nil {
		return time.Time{}, incomplete("The Date header is not a valid date.")
	}
	return at.UTC(), nil
}

// Claimed returns the service in a request's credential scope, or "". It verifies nothing: use it only to choose the
// format of an error response.
func Claimed(r *http.Request) string {
	credential := r.URL.Query().Get("X-Amz-Credential")
	if header := r.Header.Get("Authorization"); header != "" && len(header) <= maxAuthorization {
		_, credential, _ = strings.Cut(header, "Credential=")
		credential, _, _ = strings.Cut(credential, ",")
	}
	parts := strings.Split(strings.TrimSpace(credential), "/")
	if len(parts) != 5 {
		return ""
	}
	return parts[3]
}
