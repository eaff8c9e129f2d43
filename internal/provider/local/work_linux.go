package local

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of times in /proc/PID/stat: USER_HZ, which is 100 on every architecture that Go supports.
const clockTick = 10 * time.Millisecond

// stat is the kernel's information about a process.
type stat struct {
	pid, parent, group int
	zombie             bool
	cpu                time.Duration
	started            time.Duration // since boot
}

// parseStat parses /proc/PID/stat. Source: proc_pid_stat(5). The program name is in parentheses and may contain any
// byte.
func parseStat(text []byte) (s stat, ok bool) {
	end := bytes.LastIndexByte(text, ')')
	begin := bytes.IndexByte(text, ' ')
	if begin < 0 || end < begin {
		return s, false
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 20 {
		return s, false
	}
	numbers := map[int]int64{1: 0, 2: 0, 11: 0, 12: 0, 19: 0} // by position, where the state is 0
	for place := range numbers {
		n, err := strconv.ParseInt(fields[place], 10, 64)
		if err != nil {
			return s, false
		}
		numbers[place] = n
	}
	pid, err := strconv.Atoi(string(text[:begin]))
	if err != nil {
		return s, false
	}
	return stat{
		pid: pid, parent: int(numbers[1]), group: int(numbers[2]), zombie: fields[0] == "Z" || fields[0] == "X",
		cpu:     time.Duration(numbers[11]+numbers[12]) * clockTick,
		started: time.Duration(numbers[19]) * clockTick,
	}, true
}

// family returns the living processes in the process's group, and their descendants.
func (p *process) family() []stat {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	all := map[int]stat{}
	for _, entry := range entries {
		if name := entry.Name(); name[0] < '0' || name[0] > '9' {
			continue
		}
		text, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // the process has exited
		}
		if s, ok := parseStat(text); ok && !s.zombie {
			all[s.pid] = s
		}
	}
	leader := p.body.pid()
	var list []stat
	for _, s := range all {
		for at, steps := s, 0; steps < len(all); steps++ {
			if at.pid == leader || at.group == leader {
				list = append(list, s)
				break
			}
			parent, ok := all[at.parent]
			if !ok {
				break
			}
			at = parent
		}
	}
	return list
}

// bornSince reports whether a child of the process is alive that was started after the time.
func (p *process) bornSince(began time.Time) bool {
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return false
	}
	first, _, _ := strings.Cut(string(text), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return false
	}
	uptime := time.Duration(seconds * float64(time.Second))
	at := uptime - time.Since(began) // when the event was sent, by the kernel's clock
	for _, s := range p.family() {
		if s.pid != p.body.pid() && s.started > at-clockTick {
			return true
		}
	}
	return false
}

// cpu returns the CPU time of the process and its children, or false if it is unknown.
func (p *process) cpu() (used time.Duration, ok bool) {
	for _, s := range p.family() {
		used += s.cpu
		ok = true
	}
	return used, ok
}
