package idlemem

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// unmapProgram drops the program's own pages that are identical to the file.
func unmapProgram() error {
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer file.Close()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	regions, err := readOnly(file, program)
	for _, r := range regions {
		if _, _, failed := syscall.Syscall(syscall.SYS_MADVISE, r.start, r.end-r.start, syscall.MADV_DONTNEED); failed != 0 {
			err = errors.Join(err, fmt.Errorf("madvise %x-%x: %w", r.start, r.end, failed))
		}
	}
	return err
}

// region is a range of addresses from start to before end.
type region struct{ start, end uintptr }

// readOnly parses mappings in the format of /proc/PID/smaps. It returns the mappings of the file that are not
// writable and were never written. A page that the dynamic linker wrote and then protected exists only in memory.
func readOnly(smaps io.Reader, path string) (list []region, err error) {
	var at *region
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		line := lines.Text()
		if r, access, name, ok := mapping(line); ok {
			at = nil
			if name == path && access == "r-xp" || name == path && access == "r--p" {
				at = &r
			}
			continue
		}
		if key, value, _ := strings.Cut(line, ":"); at != nil && key == "Anonymous" {
			if strings.TrimSpace(value) == "0 kB" {
				list = append(list, *at)
			}
			at = nil
		}
	}
	return list, lines.Err()
}

// mapping parses the first line of a mapping: start-end access offset device inode path.
func mapping(line string) (r region, access, path string, ok bool) {
	var offset, inode uint64
	var device string
	n, err := fmt.Sscanf(line, "%x-%x %4s %x %s %d", &r.start, &r.end, &access, &offset, &device, &inode)
	if err != nil || n != 6 {
		return r, "", "", false
	}
	if at := strings.IndexByte(line, '/'); at >= 0 {
		path = line[at:]
	}
	return r, access, path, true
}
