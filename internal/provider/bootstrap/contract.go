package bootstrap

import "fmt"

// Contract is the calling convention of a cloud's functions: the arguments of the handler and the environment of its
// process. The set is closed.
type Contract uint8

// The contracts. The zero Contract means unspecified. Code that has to choose then uses [Lambda].
const (
	// Lambda passes the event as a decoded JSON value. The process gets events from AWS_LAMBDA_RUNTIME_API.
	Lambda Contract = iota + 1
	// FC is Alibaba Cloud Function Compute. It passes the event as raw bytes: bytes in Python and a Buffer in Node. The
	// process gets events from FC_RUNTIME_API, or listens on FC_SERVER_PORT.
	FC
)

// ParseContract returns a contract by its name: lambda or fc.
func ParseContract(name string) (Contract, error) {
	for _, contract := range []Contract{Lambda, FC} {
		if name == contract.String() {
			return contract, nil
		}
	}
	return 0, fmt.Errorf("%q is not a kind of function: want lambda or fc", name)
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
