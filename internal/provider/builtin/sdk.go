package builtin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/provider/awsconfig"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// Limits of [SDK].
const (
	maxSDKInput    = 96 << 20 // bytes of one call in JSON
	maxSDKResponse = 64 << 20 // bytes of a service's response
	maxSDKClients  = 64       // cached clients
)

// SDK is the server side of the AWS SDK that is built into the Python and Node runtimes, for [local.Config]. It makes
// AWS calls for handler processes, with the credentials and endpoints of the process. It is safe for concurrent use.
//
// A call is a JSON object with the members service, action, region, endpoints, credentials, maxAttempts and input.
// Endpoints maps variables such as AWS_ENDPOINT_URL_S3 to URLs. The response has action and output, or error with code,
// message, status, requestId and action; a status of 0 means that no service responded. Bytes are {"$bytes": base64},
// streams of an output {"$stream": base64}, and times of an output {"$time": milliseconds since 1970}.
type SDK struct {
	mu   sync.Mutex
	made map[sdkKey]*awscall.Client
}

// sdkKey identifies a cached client.
type sdkKey struct {
	endpoint    string
	maxAttempts int
}

type sdkCall struct {
	Service, Action, Region string
	Endpoints               map[string]string
	Credentials             struct{ AccessKeyID, SecretAccessKey, SessionToken string }
	MaxAttempts             int
	Input                   map[string]any
}

type sdkAnswer struct {
	Action string         `json:"action"`
	Output map[string]any `json:"output"`
	Error  *sdkError      `json:"error,omitempty"`
}

type sdkError struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Status    int    `json:"status"`
	RequestID string `json:"requestId"`
	Action    string `json:"action"`
}

// ServeHTTP implements [http.Handler].
func (s *SDK) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call sdkCall
	answer := sdkAnswer{}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSDKInput)).Decode(&call)
	if err != nil {
		err = fmt.Errorf("the built-in AWS SDK cannot send the call: %w", err)
	} else {
		answer.Action, answer.Output, err = s.call(r.Context(), call)
	}
	if err != nil {
		answer = sdkAnswer{Error: &sdkError{Message: err.Error(), Action: answer.Action}}
		var refused *awscall.Error
		if errors.As(err, &refused) {
			answer.Error = &sdkError{refused.Code, refused.Message, refused.Status, refused.RequestID, refused.Action}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // fails only if the process has exited
}

// call makes a call. It returns the output and the API's name of the action.
func (s *SDK) call(ctx context.Context, c sdkCall) (action string, output map[string]any, err error) {
	client, err := s.client(c)
	if err != nil {
		return "", nil, err
	}
	if _, action, err = client.Name(c.Service, c.Action); err != nil {
		return "", nil, err
	}
	input, err := fromSDK(c.Input)
	if err != nil {
		return action, nil, err
	}
	params, _ := input.(map[string]any)
	if output, err = client.Call(ctx, c.Service, c.Action, params); err != nil {
		return action, nil, err
	}
	payload, stream, err := client.Payload(c.Service, c.Action)
	if err != nil {
		return action, nil, err
	}
	encoded := make(map[string]any, len(output))
	for name, value := range output {
		switch body := value.(type) {
		case string:
			if name == payload && stream {
				encoded[name] = map[string]any{"$stream": []byte(body)}
				continue
			}
		case []byte:
			if name == payload {
				encoded[name] = map[string]any{"$bytes": body, "payload": true}
				continue
			}
		}
		encoded[name] = toSDK(value)
	}
	return action, encoded, nil
}

// client returns a client for the region, endpoint and credentials of a call.
func (s *SDK) client(c sdkCall) (*awscall.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sdkKey{maxAttempts: max(c.MaxAttempts, 0)}
	known, err := s.get(key, c.Region) // only to look up the service
	if err != nil {
		return nil, err
	}
	id, err := known.ServiceID(c.Service)
	if err != nil {
		return nil, err
	}
	if key.endpoint = c.Endpoints[awsconfig.ServiceVariable(id)]; key.endpoint == "" {
		key.endpoint = c.Endpoints[awsconfig.EndpointVariable]
	}
	client, err := s.get(key, c.Region)
	if err != nil {
		return nil, err
	}
	keys := c.Credentials
	return client.WithRegion(c.Region).WithCredentials(credentials.NewStaticCredentialsProvider(keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken)), nil
}

func (s *SDK) get(key sdkKey, region string) (*awscall.Client, error) {
	if client := s.made[key]; client != nil {
		return client, nil
	}
	client, err := awscall.New(awscall.Config{
		Region: region, Credentials: aws.AnonymousCredentials{}, Endpoint: key.endpoint, MaxAttempts: key.maxAttempts, MaxResponse: maxSDKResponse,
		HTTP: &http.Client{Timeout: local.DefaultTimeout}, UserAgent: "pintle", // invoking a function takes as long as it runs
	})
	if err != nil {
		return nil, err
	}
	if s.made == nil || len(s.made) >= maxSDKClients {
		s.made = map[sdkKey]*awscall.Client{}
	}
	s.made[key] = client
	return client, nil
}

// toSDK returns an output value in a form that JSON can carry.
func toSDK(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, member := range value {
			out[name] = toSDK(member)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = toSDK(item)
		}
		return out
	case []byte:
		return map[string]any{"$bytes": value}
	case time.Time:
		return map[string]any{"$time": value.UnixMilli()}
	}
	return value
}

// fromSDK returns an input value with marked bytes decoded.
func fromSDK(value any) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		if text, ok := value["$bytes"].(string); ok && len(value) == 1 {
			return base64.StdEncoding.DecodeString(text)
		}
		out := make(map[string]any, len(value))
		for name, member := range value {
			var err error
			if out[name], err = fromSDK(member); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			var err error
			if out[i], err = fromSDK(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return value, nil
}
