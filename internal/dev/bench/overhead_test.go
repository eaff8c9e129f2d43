//go:build unix

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/pintle-dev/pintle"
)

// TestMain also runs the functions to measure, depending on the environment.
func TestMain(m *testing.M) {
	switch os.Getenv("BENCH_FUNCTION") {
	case "pintle":
		err := pintle.Run(context.Background(), pintle.RunConfig{ServerConfig: pintle.ServerConfig{
			Handlers: []pintle.Handler{pintle.New(sites{})},
			Logger:   slog.New(slog.NewTextHandler(io.Discard, nil)),
		}})
		log.Fatal(err)
	case "aws-lambda-go":
		log.SetOutput(io.Discard)
		lambda.Start(cfn.LambdaWrap(func(_ context.Context, event cfn.Event) (string, map[string]any, error) {
			domain, _ := event.ResourceProperties["Domain"].(string)
			size, _ := event.ResourceProperties["Size"].(string)
			if _, err := strconv.Atoi(size); err != nil {
				return "", nil, err
			}
			return domain, map[string]any{"URL": "https://" + domain}, nil
		}))
	}
	os.Exit(m.Run())
}

type siteProperties struct {
	Domain string `pintle:"required,pattern=^[a-z.]+$"`
	Size   int    `pintle:"min=1,max=100"`
}

type siteAttributes struct{ URL string }

type sites struct{}

func (sites) Create(_ context.Context, r *pintle.CreateRequest[siteProperties]) (pintle.Response[siteAttributes], error) {
	return pintle.Response[siteAttributes]{ID: pintle.PhysicalID(r.Properties.Domain), Attributes: siteAttributes{"https://" + r.Properties.Domain}}, nil
}

func (sites) Update(context.Context, *pintle.UpdateRequest[siteProperties]) (pintle.Response[siteAttributes], error) {
	return pintle.Response[siteAttributes]{}, nil
}

func (sites) Delete(context.Context, *pintle.DeleteRequest[siteProperties]) error { return nil }

const (
	overheadPairs  = 9
	overheadWarm   = 500
	overheadEvents = 5000
)

// BenchmarkOverhead measures the cost of an event from one call of a Runtime API to the next, including the response.
// It alternates between a process with this SDK and one with package cfn of aws-lambda-go. This SDK also checks
// properties, records responses and enforces deadlines.
func BenchmarkOverhead(b *testing.B) {
	for b.Loop() {
		var ours, theirs, ratios, cpu []float64
		for range overheadPairs {
			o, t := eventCost(b, "pintle"), eventCost(b, "aws-lambda-go")
			ours, theirs = append(ours, o.took), append(theirs, t.took)
			ratios, cpu = append(ratios, o.took/t.took), append(cpu, o.cpu/t.cpu)
		}
		b.ReportMetric(median(ours), "pintle-µs/event")
		b.ReportMetric(median(theirs), "aws-lambda-go-µs/event")
		b.ReportMetric(median(ratios), "ratio")
		b.ReportMetric(median(cpu), "processor-ratio")
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// cost is the cost of an event in µs.
type cost struct{ took, cpu float64 }

// eventCost runs a function and sends it events, one after the other.
func eventCost(b *testing.B, name string) cost {
	b.Helper()
	var n, answers int
	var began, ended time.Time
	all := make(chan struct{})
	var server *httptest.Server
	mux := http.NewServeMux()
	// Calls are sequential, so no lock is needed here.
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) {
		if n++; n == overheadWarm {
			began = time.Now()
		}
		if n > overheadWarm+overheadEvents {
			ended = time.Now()
			close(all)
			<-r.Context().Done() // ends when the process is killed
			return
		}
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", fmt.Sprint("i-", n))
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(time.Minute).UnixMilli(), 10))
		fmt.Fprintf(w, `{"RequestType":"Create","ServiceToken":"arn:aws:lambda:us-east-1:123456789012:function:site","ResponseURL":"%s/response?X-Amz-Signature=%s",`+
			`"StackId":"arn:aws:cloudformation:us-east-1:123456789012:stack/s/1","RequestId":"r-%d","LogicalResourceId":"Site","ResourceType":"Custom::Site",`+
			`"ResourceProperties":{"ServiceToken":"arn:aws:lambda:us-east-1:123456789012:function:site","Domain":"example.test","Size":"5"}}`,
			server.URL, strings.Repeat("5", 300), n)
	})
	mux.HandleFunc("POST /2018-06-01/runtime/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("PUT /response", func(_ http.ResponseWriter, r *http.Request) {
		var answer struct{ Status, PhysicalResourceId string }
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || answer.Status != "SUCCESS" || answer.PhysicalResourceId != "example.test" {
			b.Errorf("answer %+v: %v", answer, err)
		}
		answers++
	})
	server = httptest.NewServer(mux)
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "BENCH_FUNCTION="+name, "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(server.URL, "http://"))
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	select {
	case <-all:
	case <-time.After(2 * time.Minute):
		b.Error("the events do not end")
	}
	_ = command.Process.Kill()
	_ = command.Wait() // it was killed
	server.Close()
	if answers != n-1 {
		b.Errorf("%d answers for %d events", answers, n-1)
	}
	used := command.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	return cost{float64(ended.Sub(began).Microseconds()) / overheadEvents, float64(cpu.Microseconds()) / float64(answers)}
}
