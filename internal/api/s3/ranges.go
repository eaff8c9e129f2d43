package s3

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"github.com/johannesboyne/gofakes3"
)

// oneRange matches the ranges that are heeded. Others are read over, as S3 does.
var oneRange = regexp.MustCompile(`^bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))$`)

var badRange = refuse(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable")

// plainRange removes a range that is not heeded.
func (c *call) plainRange() {
	match := oneRange.FindStringSubmatch(c.r.Header.Get("Range"))
	if match != nil && match[2] != "" {
		first, _ := strconv.ParseInt(match[1], 10, 64)
		last, _ := strconv.ParseInt(match[2], 10, 64)
		if last < first {
			match = nil
		}
	}
	if match == nil {
		c.r.Header.Del("Range")
	}
}

// ranged reads the range that is asked for; nil is none.
func (c *call) ranged() (*gofakes3.ObjectRangeRequest, error) {
	match := oneRange.FindStringSubmatch(c.r.Header.Get("Range"))
	if match == nil {
		return nil, nil
	}
	numbers := make([]int64, len(match))
	for i, digits := range match[1:] {
		if digits != "" {
			numbers[i], _ = strconv.ParseInt(digits, 10, 64) // at most 18 digits
		}
	}
	asked := &gofakes3.ObjectRangeRequest{Start: numbers[0], End: numbers[1]}
	switch {
	case match[3] != "":
		asked = &gofakes3.ObjectRangeRequest{End: numbers[2], FromEnd: true}
	case match[2] == "":
		asked.End = gofakes3.RangeNoEnd
	}
	return asked, nil
}

// rangeOf returns the range of an object; nil is all of it.
func rangeOf(asked *gofakes3.ObjectRangeRequest, size int64) (*gofakes3.ObjectRange, error) {
	if asked == nil {
		return nil, nil
	}
	first, length := asked.Start, size-asked.Start
	switch {
	case asked.FromEnd:
		length = min(asked.End, size)
		first = size - length
	case asked.End != gofakes3.RangeNoEnd:
		length = min(asked.End, size-1) - first + 1
	}
	if first >= size || length <= 0 {
		return nil, badRange
	}
	return &gofakes3.ObjectRange{Start: first, Length: length}, nil
}

// exactRange puts a range in the place of the one that was asked for, which gofakes3 is about to read.
func (c *call) exactRange(part *gofakes3.ObjectRange) {
	if part != nil {
		c.r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", part.Start, part.Start+part.Length-1))
	}
}
