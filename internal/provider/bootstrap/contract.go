package bootstrap

import "fmt"

// Contract is which cloud's functions a handler is written for: what it is called with, and what its process is told. The
// set is closed.
type Contract uint8

// The contracts. The zero Contract says nothing; who has to choose then takes [Lambda].
const (
	// Lambda hands the event over as the value that its JSON stands for. The process asks AWS_LAMBDA_RUNTIME_API for it.
	Lambda Contract = iota + 1
	// FC is Alibaba Cloud Function Compute: the event is the bytes as they came, bytes in Python and a Buffer in Node. The
	// process asks FC_RUNTIME_API for it, or listens at FC_SERVER_PORT.
	FC
)

// ParseContract returns a contract by its name: lambda or fc.
func ParseContract(name string) (Contract, error) {
	for _, contract := range []Contract{Lambda, FC} {
		if name == contract.String() {
			return contract, nil
		}
	}
	return 0, fmt.Errorf("%q is no kind of function: want lambda or fc", name)
}

// String returns the name; empty for the zero Contract.
func (c Contract) String() string {
	switch c {
	case 0:
		return ""
	case Lambda:
		return "lambda"
	case FC:
		return "fc"
	}
	return fmt.Sprintf("contract %d", uint8(c))
}
