//go:build !unix && !windows

package node

import (
	"errors"
	"os"
)

// lock refuses: without a lock two engines could work on one database.
func lock(*os.File) (bool, error) {
	return false, errors.New("data directories cannot be locked on this system")
}
