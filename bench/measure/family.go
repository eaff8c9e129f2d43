//go:build unix

package measure

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// FamilyCPU returns the processor time used by a process and its descendants, including ended children that were waited
// for. It needs /proc.
func FamilyCPU(id int) (time.Duration, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	parents, used := map[int]int{}, map[int]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it exited in the meantime
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || len(fields) < 15 {
			continue
		}
		numbers := make([]int, 0, 5)
		for _, field := range append([]string{fields[1]}, fields[11:15]...) { // ppid, utime, stime, cutime, cstime of proc(5)
			n, err := strconv.Atoi(field)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", file, err)
			}
			numbers = append(numbers, n)
		}
		parents[pid], used[pid] = numbers[0], numbers[1]+numbers[2]+numbers[3]+numbers[4]
	}
	if _, ok := used[id]; !ok {
		return 0, fmt.Errorf("process %d is not there", id)
	}
	sum := 0
	for pid, ticks := range used {
		for at, steps := pid, 0; at != 0 && steps < len(parents); at, steps = parents[at], steps+1 {
			if at == id {
				sum += ticks
				break
			}
		}
	}
	return time.Duration(sum) * time.Second / ticks, nil
}
