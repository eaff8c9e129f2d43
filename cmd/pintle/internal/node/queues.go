package node

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/base/functionenv"
	"github.com/pintle-dev/pintle/internal/base/guard"
	"github.com/pintle-dev/pintle/internal/cloud/sqs"
	"github.com/pintle-dev/pintle/internal/provider/builtin"
)

// maxQueueClients is how many clients are kept, one for each account.
const maxQueueClients = 64

// openQueues makes the client that sends messages to the SQS in the environment of the server.
func (c *cloud) openQueues(n *Node) (err error) {
	calls := builtin.AWS{Env: c.variables, HTTP: &http.Client{Transport: guard.Transport(true)}}
	var mu sync.Mutex
	clients := map[string]*awscall.Client{} // by account
	c.queues, err = sqs.New(sqs.Config{Log: n.log, Client: func(ctx context.Context, account string) (*awscall.Client, string, error) {
		variables := c.variables(account)
		url := cmp.Or(variables[sqs.Variable], variables[functionenv.Endpoint])
		if strings.TrimSuffix(url, "/") == strings.TrimSuffix(c.url, "/") { // this server, which has no SQS
			return nil, "", nil
		}
		mu.Lock()
		defer mu.Unlock()
		if client := clients[account]; client != nil {
			return client, url, nil
		}
		client, err := calls.Client(ctx, account)
		if err == nil {
			if len(clients) >= maxQueueClients {
				clear(clients)
			}
			clients[account] = client
		}
		return client, url, err
	}})
	return err
}
