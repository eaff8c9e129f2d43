package idlemem

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadOnly(t *testing.T) {
	const smaps = `00400000-01a2b000 r-xp 00000000 fe:00 1234                               /opt/pin tle
Size:              22700 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
01a2b000-03500000 r--p 0162b000 fe:00 1234                               /opt/pin tle
Anonymous:             0 kB
03500000-03600000 r--p 03100000 fe:00 1234                               /opt/pin tle
Anonymous:             8 kB
03600000-03700000 rw-p 03200000 fe:00 1234                               /opt/pin tle
Anonymous:             0 kB
03700000-03701000 r--s 03200000 fe:00 1234                               /opt/pin tle
Anonymous:             0 kB
7f0000000000-7f0000001000 r-xp 00000000 fe:00 77                         /lib/libc.so.6
Anonymous:             0 kB
7fff00000000-7fff00001000 r-xp 00000000 00:00 0                          [vdso]
Anonymous:             0 kB
`
	got, err := readOnly(strings.NewReader(smaps), "/opt/pin tle")
	want := []region{{0x400000, 0x1a2b000}, {0x1a2b000, 0x3500000}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(region{})); diff != "" || err != nil {
		t.Errorf("error %v, want none (-want +got):\n%s", err, diff)
	}
	if got, err := readOnly(strings.NewReader(smaps), "/opt/another"); len(got) > 0 || err != nil {
		t.Errorf("of another program: %v, error %v", got, err)
	}
}
