//go:build unix

package cycle

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/internal/base/idlemem"
)

// floor makes the exchanges of the cycles and commits their rows, and does nothing else.
type floor struct {
	p       *Provider
	size    Size
	client  *http.Client
	writers []chan *write
	all     sync.WaitGroup // senders
	ended   sync.WaitGroup // writers
	door    *httptest.Server
	closers []func() error // closes connections, the last one first
	endings [][]ending     // by chain and number
}

// ending is done when the answer of a cycle is committed. A client may send an answer twice.
type ending struct {
	once sync.Once
	done chan struct{}
}

// write is one write of a cycle: that its request was delivered, or everything that follows from its answer.
type write struct {
	chain, n int
	answer   bool
	done     chan struct{}
}

// Parts of rows with the average sizes of the engine's rows in this benchmark.
var (
	requestPlain   = bytes.Repeat([]byte("r"), 97)
	requestBody    = bytes.Repeat([]byte("r"), 213)
	requestValues  = bytes.Repeat([]byte("r"), 117)
	operationPlain = bytes.Repeat([]byte("o"), 288)
	stepPlain      = bytes.Repeat([]byte("s"), 75)
	planPlain      = bytes.Repeat([]byte("s"), 265)
	instancePlain  = bytes.Repeat([]byte("i"), 117)
	instanceBody   = bytes.Repeat([]byte("i"), 100)
	instanceValues = bytes.Repeat([]byte("i"), 163)
	events         = bytes.Repeat([]byte("e"), 1089)
)

// Floor makes the cycles of the floor on a new database and returns their rate.
func Floor(ctx context.Context, at measure.Database, size Size) (made Rate, err error) {
	defer idlemem.Pace()()
	p := NewProvider(ctx, size)
	defer p.Close()
	f := &floor{p: p, size: size, client: client(), endings: make([][]ending, size.Chains)}
	for chain := range f.endings {
		f.endings[chain] = make([]ending, size.Length)
		for n := range f.endings[chain] {
			f.endings[chain][n].done = make(chan struct{})
		}
	}
	defer f.client.CloseIdleConnections()
	defer func() { err = errors.Join(err, f.close()) }()
	if err := tables(ctx, at); err != nil {
		return Rate{}, err
	}
	if at.DSN == "" {
		err = f.onSQLite(ctx, at.Path)
	} else {
		err = f.onPostgres(ctx, at.DSN)
	}
	if err != nil {
		return Rate{}, err
	}
	f.door = httptest.NewServer(http.HandlerFunc(f.take))
	for chain := range size.Chains {
		f.send(chain, 0)
	}
	if made, err = p.Measure(); err != nil {
		return Rate{}, err
	}
	p.wait() // for the last answers
	return made, nil
}

// take takes an answer like the server: it acknowledges the answer after the write.
func (f *floor) take(w http.ResponseWriter, r *http.Request) {
	var answer struct{ Status, PhysicalResourceId string }
	var chain, n int
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&answer); err != nil || answer.Status != "SUCCESS" {
		f.p.Fail(fmt.Errorf("answer %v, error %w", answer, err))
	}
	_, err := fmt.Sscanf(r.URL.Path, "/%d/%d", &chain, &n)
	if err != nil || chain < 0 || chain >= f.size.Chains || n < 0 || n >= f.size.Length {
		f.p.Fail(fmt.Errorf("an answer comes to %s", r.URL.Path))
		return
	}
	f.write(chain, n, true)
	s := &f.endings[chain][n]
	s.once.Do(func() { close(s.done) })
	f.send(chain, n+1)
}

// close stops the goroutines of a run: first the senders, then the writers.
func (f *floor) close() error {
	if f.door != nil {
		f.door.Close() // including repeated requests of a client whose connection broke
	}
	f.all.Wait()
	for _, w := range f.writers {
		close(w)
	}
	f.ended.Wait()
	var err error
	for i := range f.closers {
		err = errors.Join(err, f.closers[len(f.closers)-1-i]())
	}
	return err
}

func (f *floor) write(chain, n int, answer bool) {
	w := &write{chain: chain, n: n, answer: answer, done: make(chan struct{})}
	f.writers[chain%len(f.writers)] <- w
	<-w.done
}

// send sends a request to the provider and records that, unless the answer has already arrived. Like the engine, it may
// delay the record. It does not wait for it.
func (f *floor) send(chain, n int) {
	if n == f.size.Length {
		return
	}
	f.all.Go(func() {
		if err := f.ask(chain, n); err != nil {
			f.p.Fail(err)
			return
		}
		held := time.NewTimer(linger)
		defer held.Stop()
		select {
		case <-f.endings[chain][n].done:
		case <-held.C:
			f.write(chain, n, false)
		}
	})
}

func (f *floor) ask(chain, n int) error {
	body, err := json.Marshal(map[string]any{
		"RequestType": "Create", "ServiceToken": f.p.URL, "ResponseURL": fmt.Sprintf("%s/%d/%d?%s", f.door.URL, chain, n, strings.Repeat("s", 300)),
		"StackId": strings.Repeat("s", 96), "RequestId": fmt.Sprintf("%018d%018d", chain, n), "LogicalResourceId": fmt.Sprint("R", n),
		"ResourceType": "Custom::Thing", "ResourceProperties": map[string]string{"ServiceToken": f.p.URL, "Endpoint": "https://example.com/", "Size": "1"},
	})
	if err != nil {
		return err
	}
	response, err := f.client.Post(f.p.URL, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close() // only the status matters
	if response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("a request was answered with %s", response.Status)
	}
	return nil
}

// run commits queued writes in batches.
func (f *floor) run(commit func([]*write) error) {
	queue := make(chan *write, 256)
	f.writers = append(f.writers, queue)
	f.ended.Go(func() {
		for w := range queue {
			batch := []*write{w}
			for range min(len(queue), 255) {
				batch = append(batch, <-queue)
			}
			if err := commit(batch); err != nil {
				f.p.Fail(err)
			}
			for _, w := range batch {
				close(w.done)
			}
		}
	})
}

func requestID(chain, n int) string { return fmt.Sprintf("%018d%018d", chain, n) }

// Statements for both SQLite and PostgreSQL. The tables are the stores' own.
const (
	makeOperation = "INSERT INTO operation (stack, number, version, plain) VALUES ($1, 1, 1, $2)"
	delivered     = "UPDATE request SET state = 'waiting', owner = 0, due = $2, plain = $3 WHERE id = $1 AND state = 'ready'"
	settled       = "UPDATE request SET state = 'settled', owner = 0, due = NULL, plain = $2 WHERE id = $1"
	operation     = "UPDATE operation SET version = version + 1, plain = $2 WHERE stack = $1 AND number = 1"
	instance      = "UPDATE instance SET plain = $3 WHERE stack = $1 AND number = $2"
	makeEvent     = "INSERT INTO event (stack, operation, number, events) VALUES ($1, 1, $2, $3)"
)

func (f *floor) onSQLite(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=cache_size(-16384)")
	if err != nil {
		return err
	}
	f.closers = append(f.closers, db.Close)
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	f.closers = append(f.closers, conn.Close)
	prepared := map[string]*sql.Stmt{}
	var failed error // the first failure; nothing is done after that
	exec := func(text string, args ...any) (seq int64) {
		if failed != nil {
			return 0
		}
		statement := prepared[text]
		if statement == nil {
			if statement, failed = conn.PrepareContext(ctx, text); failed != nil {
				return 0
			}
			prepared[text] = statement
			f.closers = append(f.closers, statement.Close)
		}
		for i, arg := range args {
			if text, ok := arg.([]byte); ok {
				args[i] = string(text)
			}
		}
		result, err := statement.ExecContext(ctx, args...)
		if err == nil {
			seq, err = result.LastInsertId()
		}
		failed = err
		return seq
	}
	steps, instances := map[[2]int]int64{}, map[[2]int]int64{}
	ask := func(chain, n int) {
		seq := exec("INSERT INTO instance (stack, number, logical, role, plain) VALUES ($1, $2, $3, 'current', $4)", chain+1, n+1, fmt.Sprint("R", n), instancePlain)
		exec("INSERT INTO instance_body (seq, plain, vals) VALUES ($1, $2, $3)", seq, instanceBody, instanceValues)
		instances[[2]int{chain, n}] = seq
		seq = exec("INSERT INTO request (id, stack, operation, logical, instance, type, state, owner, executor, plain) VALUES ($1, $2, 1, $3, $4, 'Create', 'ready', 1, 0, $5)",
			requestID(chain, n), chain+1, fmt.Sprint("R", n), n+1, requestPlain)
		exec("INSERT INTO request_body (seq, plain, vals) VALUES ($1, $2, $3)", seq, requestBody, requestValues)
	}
	exec("BEGIN")
	for chain := range f.size.Chains {
		exec(makeOperation, chain+1, operationPlain)
		for n := range f.size.Length + 1 {
			seq := exec("INSERT INTO step (stack, logical, plain) VALUES ($1, $2, $3)", chain+1, fmt.Sprint("R", n), stepPlain)
			exec("INSERT INTO step_plan (seq, plain) VALUES ($1, $2)", seq, planPlain)
			steps[[2]int{chain, n}] = seq
		}
		ask(chain, 0)
	}
	exec("COMMIT")
	if failed != nil {
		return failed
	}
	f.run(func(batch []*write) error {
		exec("BEGIN IMMEDIATE")
		for _, w := range batch {
			key := w.chain + 1
			if !w.answer {
				exec(delivered, requestID(w.chain, w.n), 1<<40, requestPlain)
				continue
			}
			exec(settled, requestID(w.chain, w.n), requestPlain)
			exec(operation, key, operationPlain)
			for n := range 2 {
				exec("UPDATE step SET plain = $2 WHERE seq = $1", steps[[2]int{w.chain, w.n + n}], stepPlain)
			}
			exec(instance, key, w.n+1, instancePlain)
			exec("UPDATE instance_body SET plain = $2, vals = $3 WHERE seq = $1", instances[[2]int{w.chain, w.n}], instanceBody, instanceValues)
			ask(w.chain, w.n+1)
			exec(makeEvent, key, w.n+1, events)
		}
		exec("COMMIT")
		return failed
	})
	return nil
}

func (f *floor) onPostgres(ctx context.Context, dsn string) error {
	ask := func(trip *pgx.Batch, chain, n int) {
		logical := fmt.Sprint("R", n)
		trip.Queue("INSERT INTO instance (stack, number, logical, role, plain) VALUES ($1, $2, $3, 'current', $4)", chain+1, n+1, logical, instancePlain)
		trip.Queue("INSERT INTO instance_body (stack, number, plain, vals) VALUES ($1, $2, $3, $4)", chain+1, n+1, instanceBody, instanceValues)
		trip.Queue("INSERT INTO request (id, stack, operation, logical, instance, type, state, owner, executor, born, plain) VALUES ($1, $2, 1, $3, $4, 'Create', 'ready', 1, 0, 1, $5)",
			requestID(chain, n), chain+1, logical, n+1, requestPlain)
		trip.Queue("INSERT INTO request_body (id, plain, vals) VALUES ($1, $2, $3)", requestID(chain, n), requestBody, requestValues)
	}
	for number := range 2 { // as many writers as in the store
		config, err := pgx.ParseConfig(dsn)
		if err != nil {
			return err
		}
		config.RuntimeParams["search_path"] = "pintle"
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return err
		}
		f.closers = append(f.closers, func() error { return conn.Close(context.WithoutCancel(ctx)) })
		if number == 0 {
			trip := &pgx.Batch{}
			for chain := range f.size.Chains {
				trip.Queue(makeOperation, chain+1, operationPlain)
				for n := range f.size.Length + 1 {
					trip.Queue("INSERT INTO step (stack, logical, next, plain) VALUES ($1, $2, '{}', $3)", chain+1, fmt.Sprint("R", n), stepPlain)
					trip.Queue("INSERT INTO step_plan (stack, logical, needs, plain) VALUES ($1, $2, '{}', $3)", chain+1, fmt.Sprint("R", n), planPlain)
				}
				ask(trip, chain, 0)
			}
			if err := conn.SendBatch(ctx, trip).Close(); err != nil {
				return err
			}
		}
		f.run(func(batch []*write) error {
			trip := &pgx.Batch{}
			trip.Queue("BEGIN")
			for _, w := range batch {
				key := w.chain + 1
				if !w.answer {
					trip.Queue(delivered, requestID(w.chain, w.n), 1<<40, requestPlain)
					continue
				}
				trip.Queue(settled, requestID(w.chain, w.n), requestPlain)
				trip.Queue(operation, key, operationPlain)
				for n := range 2 {
					trip.Queue("UPDATE step SET plain = $3 WHERE stack = $1 AND logical = $2", key, fmt.Sprint("R", w.n+n), stepPlain)
				}
				trip.Queue(instance, key, w.n+1, instancePlain)
				trip.Queue("UPDATE instance_body SET plain = $3, vals = $4 WHERE stack = $1 AND number = $2", key, w.n+1, instanceBody, instanceValues)
				ask(trip, w.chain, w.n+1)
				trip.Queue(makeEvent, key, w.n+1, events)
			}
			trip.Queue("COMMIT")
			return conn.SendBatch(ctx, trip).Close()
		})
	}
	return nil
}
