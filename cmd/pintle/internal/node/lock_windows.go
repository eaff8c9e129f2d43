package node

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lock takes the lock of an open file, and reports whether it got it. The lock ends with the handle. On Windows a lock prevents reads of
// the locked bytes, and the file names the holder, so the locked byte is far beyond the end of the file.
func lock(file *os.File) (bool, error) {
	beyond := &windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, beyond)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}
