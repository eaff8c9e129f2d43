package rpc

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/base/acs"
)

// Call is a parsed request.
type Call struct {
	Action, Version string
	// Format is the format of the response, "" for the service's default.
	Format string
	// AccessKeyID and SecurityToken are the signer's. The token may be empty.
	AccessKeyID   string
	SecurityToken string
	// Parameters are the parameters of the query and the body, except those of the signature. Each has one value.
	Parameters url.Values

	nonce, timestamp string
	signature        string
	signed           []string // signed headers of V3
	all              url.Values
	bodyHash         string
}

// own are the parameters of the protocol itself.
var own = []string{
	"AccessKeyId", "Action", "Format", "SecurityToken", "Signature", "SignatureMethod", "SignatureNonce", "SignatureType",
	"SignatureVersion", "Timestamp", "Version",
}

// maxPairs is the maximum number of parameters. Source: Pintle's own limit; a stack has at most 200 parameters with two
// names each.
const maxPairs = 5000

// Claimed reports whether the header or the query of a request belongs to this protocol. It ignores the body, which may
// also contain a call. It verifies nothing: use it only to choose the format of an error response.
func Claimed(r *http.Request) bool {
	if header := r.Header.Get("Authorization"); header != "" {
		return strings.HasPrefix(header, "ACS3-")
	}
	query := r.URL.Query()
	return !query.Has("X-Amz-Signature") && claims(query)
}

// version is the version of the API. It distinguishes unsigned calls from those of AWS.
const version = "2019-09-10"

// claims reports whether parameters belong to a call that is signed in its parameters or unsigned. AWS's old signatures
// use AWSAccessKeyId and have no nonce.
func claims(parameters url.Values) bool {
	return parameters.Has("AccessKeyId") || parameters.Has("SignatureMethod") && parameters.Has("SignatureNonce") ||
		parameters.Has("Action") && parameters.Get("Version") == version
}

// mayBe reports whether a request is a call, or may be one depending on its body.
func mayBe(r *http.Request) bool {
	if Claimed(r) {
		return true
	}
	root := r.URL.Path == "/" || r.URL.Path == ""
	return root && r.Method == http.MethodPost && r.Header.Get("Authorization") == "" && isForm(r.Header) && !r.URL.Query().Has("X-Amz-Signature")
}

func isForm(header http.Header) bool {
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && media == "application/x-www-form-urlencoded"
}

// fromPage reports whether a request has the marks of a web page in a browser. A page can send a form to any server.
// Not all browsers set all marks.
func fromPage(header http.Header) bool {
	site := header.Get("Sec-Fetch-Site")
	return header.Get("Origin") != "" || site != "" && site != "none" || strings.HasPrefix(header.Get("User-Agent"), "Mozilla/")
}

// read parses a request as a call. It returns nil if the request is not one. body is the request's body.
func read(r *http.Request, body []byte) (*Call, error) {
	query, err := parameters(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	inHeader := strings.HasPrefix(r.Header.Get("Authorization"), "ACS3-")
	var form url.Values
	if len(body) > 0 && isForm(r.Header) {
		if form, err = parameters(strings.Trim(string(body), "&\r\n")); err != nil {
			if !inHeader && !claims(query) {
				return nil, nil //nolint:nilnil // another protocol's form, which says so itself
			}
			return nil, err
		}
	}
	if !inHeader && !claims(query) && !claims(form) {
		return nil, nil //nolint:nilnil // none of ours is not an error
	}
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		return nil, &Error{
			Code: "UnsupportedHTTPMethod", Message: "This http method is not supported.", Status: http.StatusMethodNotAllowed,
			Recommend: "Send GET or POST.",
		}
	case r.URL.Path != "/" && r.URL.Path != "":
		return nil, &Error{
			Code: "InvalidAction.NotFound", Message: "Specified api is not found, please check your url and method.",
			Status: http.StatusNotFound, Recommend: "The endpoint is the server's address without a path.",
		}
	case len(body) > 0 && form == nil:
		return nil, &Error{
			Code: "UnsupportedMediaType", Message: "The Content-Type of a body must be application/x-www-form-urlencoded.",
			Status: http.StatusUnsupportedMediaType,
		}
	}
	all, err := merged(query, form)
	if err != nil {
		return nil, err
	}
	call := &Call{all: all, Parameters: url.Values{}}
	for name, values := range all {
		if !slices.Contains(own, name) {
			call.Parameters[name] = values
		}
	}
	if inHeader {
		call.bodyHash = acs.Hash(body)
		return call, call.readHeader(r)
	}
	return call, call.readParameters()
}

// parameters parses a query or a form. Each name has one value.
func parameters(text string) (url.Values, error) {
	if strings.Count(text, "&") >= maxPairs {
		return nil, Invalid("Parameters", "there are more than %d of them", maxPairs)
	}
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, &Error{Code: "InvalidParameter", Message: "The request is not a well-formed form: a name or a value has a broken " +
			"%-escape or a semicolon."}
	}
	for name, given := range values {
		switch {
		case !utf8.ValidString(name) || !utf8.ValidString(given[0]):
			return nil, Invalid(strings.ToValidUTF8(short(name), "?"), "it is not UTF-8")
		case len(given) > 1:
			return nil, Invalid(short(name), "it is given %d times", len(given))
		}
	}
	return values, nil
}

// merged combines a query and a form. It rejects a parameter with two different values.
func merged(query, form url.Values) (url.Values, error) {
	all := make(url.Values, len(query)+len(form))
	for name, values := range query {
		all[name] = values
	}
	for name, values := range form {
		if other, twice := all[name]; twice && other[0] != values[0] {
			return nil, Invalid(short(name), "the query and the body have different values of it")
		}
		all[name] = values
	}
	return all, nil
}

// short truncates a name for an error.
func short(name string) string {
	if len(name) > 100 {
		return strings.ToValidUTF8(name[:100], "") + "..."
	}
	return name
}

// readParameters reads the V1 signature from the parameters.
func (c *Call) readParameters() error {
	for _, name := range []string{"Action", "Version", "AccessKeyId", "Signature", "SignatureMethod", "SignatureNonce", "SignatureVersion"} {
		if c.all.Get(name) == "" {
			return unsaid(name)
		}
	}
	if c.all.Get("SignatureMethod") != "HMAC-SHA1" {
		return Invalid("SignatureMethod", "it must be HMAC-SHA1: other ways to sign have their parameters in headers")
	}
	if c.all.Get("SignatureVersion") != "1.0" {
		return Invalid("SignatureVersion", "it must be 1.0")
	}
	if c.all.Get("SignatureType") != "" {
		return Invalid("SignatureType", "it must be empty: calls are signed with the secret of an access key here")
	}
	c.Action, c.Version, c.Format = c.all.Get("Action"), c.all.Get("Version"), c.all.Get("Format")
	c.AccessKeyID, c.SecurityToken = c.all.Get("AccessKeyId"), c.all.Get("SecurityToken")
	c.nonce, c.timestamp, c.signature = c.all.Get("SignatureNonce"), c.all.Get("Timestamp"), c.all.Get("Signature")
	return nil
}

// Headers of V3.
const (
	actionHeader  = "X-Acs-Action"
	versionHeader = "X-Acs-Version"
	dateHeader    = "X-Acs-Date"
	nonceHeader   = "X-Acs-Signature-Nonce"
	hashHeader    = "X-Acs-Content-Sha256"
	tokenHeader   = "X-Acs-Security-Token"
)

// maxAuthorization is the maximum size of the header in bytes.
const maxAuthorization = 8 << 10

// readHeader reads the V3 signature from the headers.
func (c *Call) readHeader(r *http.Request) error {
	incomplete := func(why string) error {
		return &Error{Code: "IncompleteSignature", Message: "The request signature does not conform to Aliyun standards, " + why + "."}
	}
	text := r.Header.Get("Authorization")
	rest, ok := strings.CutPrefix(text, acs.Algorithm+" ")
	switch {
	case len(r.Header.Values("Authorization")) > 1:
		return incomplete("there is more than one Authorization header")
	case len(text) > maxAuthorization:
		return incomplete("the Authorization header is too long")
	case !ok:
		return incomplete("the algorithm must be " + acs.Algorithm)
	}
	parts := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if _, twice := parts[name]; twice {
			return incomplete("the Authorization header has " + short(name) + " twice")
		}
		parts[name] = value
	}
	for _, name := range []string{"Credential", "SignedHeaders", "Signature"} {
		if parts[name] == "" {
			return incomplete("the Authorization header has no " + name)
		}
	}
	for _, name := range []string{actionHeader, versionHeader, nonceHeader, hashHeader} {
		if r.Header.Get(name) == "" {
			return unsaid(strings.ToLower(name))
		}
	}
	c.signed = strings.Split(parts["SignedHeaders"], ";")
	if why := wrongSigned(r, c.signed); why != "" {
		return incomplete(why)
	}
	c.Action, c.Version, c.Format = r.Header.Get(actionHeader), r.Header.Get(versionHeader), c.all.Get("Format")
	c.AccessKeyID, c.SecurityToken = parts["Credential"], r.Header.Get(tokenHeader)
	c.nonce, c.timestamp, c.signature = r.Header.Get(nonceHeader), r.Header.Get(dateHeader), parts["Signature"]
	return nil
}

// wrongSigned returns the problem with the signed headers of a V3 call, or "". Clients may sign additional headers: the
// SDK for Python signs all headers that it sets. The signature covers the headers as received. So a signed header that
// is missing is rejected, and so is an important unsigned header, which a proxy could have changed.
func wrongSigned(r *http.Request, signed []string) string {
	for i, name := range signed {
		switch {
		case name == "" || name != strings.ToLower(name) || i > 0 && signed[i-1] >= name:
			return "SignedHeaders must be sorted names in lower case, each once"
		case name == "authorization":
			return "SignedHeaders must not have authorization, which holds the signature"
		case name != "host" && len(r.Header.Values(name)) == 0:
			return "SignedHeaders has " + short(name) + ", but the request has no such header"
		}
	}
	required := acs.SignedV3(r.Header)
	if r.Header.Get(hashHeader) == acs.Hash(nil) {
		// The type of an empty body is irrelevant. HTTP libraries such as aiohttp, which the asynchronous SDK for
		// Python uses, add it after signing.
		required = slices.DeleteFunc(required, func(name string) bool { return name == "content-type" })
	}
	for _, name := range required {
		if _, found := slices.BinarySearch(signed, name); !found {
			return "SignedHeaders must have host, content-type if there is one, and every x-acs header: " + strings.Join(required, ";")
		}
	}
	return ""
}
