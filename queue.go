package pintle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

const (
	// messageHidden is the visibility timeout of a message in progress, and messageRenewed the interval at which it
	// is renewed. After a crash, another process gets the message when the timeout expires.
	messageHidden  = time.Minute
	messageRenewed = 20 * time.Second
	// maxDequeue is the number of attempts to answer a message before it is dropped.
	maxDequeue = 5
	// longestQueuePause is the longest pause after a failed call.
	longestQueuePause = 30 * time.Second
)

// pollQueue takes requests from a queue until the context ends, and finishes them before it returns. It returns an
// error if it cannot get an access key or the service rejects the first call: then the configuration is wrong.
func (s *Server) pollQueue(ctx context.Context, q *mnsQueue) error {
	defer q.client.CloseIdleConnections()
	finish := context.WithoutCancel(ctx)
	if _, err := q.credentials(ctx); err != nil {
		return fmt.Errorf("the queue needs an access key: %w", err)
	}
	s.log.Info("polling", "queue", q.base.String())
	worked := false
	pause := time.Second
	for ctx.Err() == nil {
		select {
		case s.web.room <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		m, err := q.receive(ctx)
		var refused *mnsError
		switch {
		case ctx.Err() != nil:
			<-s.web.room
		case err != nil && !worked && errors.As(err, &refused) && refused.status < 500:
			<-s.web.room
			return errors.Join(err, s.Shutdown(finish))
		case err != nil:
			<-s.web.room
			s.log.Error("queue", "error", err, "pause", pause)
			_ = s.clock.Sleep(ctx, pause*3/4+rand.N(pause/2)) // the loop checks the context
			pause = min(2*pause, longestQueuePause)
		case m == nil:
			<-s.web.room
			worked, pause = true, time.Second
		default:
			worked, pause = true, time.Second
			s.work.Go(func() { // ends at the timeout for requests
				defer func() { <-s.web.room }()
				s.fromQueue(finish, q, m)
			})
		}
	}
	return s.Shutdown(finish)
}

// fromQueue answers the request in a message, then deletes the message. After a crash in between, the message is
// delivered again.
func (s *Server) fromQueue(ctx context.Context, q *mnsQueue, m *mnsMessage) {
	log := s.log.With("message", m.MessageID)
	if err := q.hide(ctx, m, messageHidden); err != nil {
		log.Warn("queue", "error", err)
	}
	renewing, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() { // ends with stop
		defer close(stopped)
		for s.clock.Sleep(renewing, messageRenewed) == nil {
			if err := q.hide(renewing, m, messageHidden); err != nil && renewing.Err() == nil {
				log.Warn("queue", "error", err)
			}
		}
	}()
	a, err := s.take(ctx, delivery{text: unwrapMNS([]byte(m.Body)), deadline: s.clock.Now().Add(s.ros.Timeout)})
	var bad *wire.RequestError
	switch {
	case err == nil && a.waiting == nil:
		err = s.send(ctx, a)
	case err == nil: // a waiter keeps it
	case errors.As(err, &bad):
		log.Error("this message is not a request and is dropped", "error", err)
		err = nil
	default:
		log.Error("not answered", "error", err)
	}
	stop()
	<-stopped
	if err != nil && m.DequeueCount < maxDequeue {
		return // the queue delivers it again
	}
	if err != nil {
		log.Error("the message could not be answered, it is dropped", "deliveries", m.DequeueCount)
	}
	if err := q.delete(ctx, m); err != nil {
		log.Warn("the message will be delivered again", "error", err)
	}
}
