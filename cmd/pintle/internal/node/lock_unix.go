//go:build unix

package node

import (
	"errors"
	"os"
	"syscall"
)

// lock takes an exclusive lock on the file that ends when it is closed; false means that another process has it.
func lock(file *os.File) (bool, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
