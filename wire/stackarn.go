package wire

import (
	"fmt"
	"strings"
)

// StackARN is a parsed stack ID: arn:PARTITION:cloudformation:REGION:ACCOUNT:stack/NAME/GUID.
type StackARN struct {
	Partition string
	Region    string
	Account   string // letters and digits
	Name      string // a letter, then letters, digits and "-", at most 128
	GUID      string // letters, digits and "-"; distinguishes stacks with the same name
}

// NewStackID returns the ID of a stack in the partition of the region, see [Partition].
func NewStackID(region, account, name, guid string) StackID {
	return StackARN{Partition(region), region, account, name, guid}.ID()
}

// ID formats the ARN. It does not check the fields.
func (a StackARN) ID() StackID {
	return StackID("arn:" + a.Partition + ":cloudformation:" + a.Region + ":" + a.Account + ":stack/" + a.Name + "/" + a.GUID)
}

// ParseStackARN parses a stack ID. It accepts every partition whose name begins with "aws".
func ParseStackARN(id StackID) (StackARN, error) {
	bad := func(why string) (StackARN, error) {
		return StackARN{}, fmt.Errorf("stack ID %q %s, want arn:aws:cloudformation:REGION:ACCOUNT:stack/NAME/GUID",
			short(string(id)), why)
	}
	fields := strings.Split(string(id), ":")
	if len(fields) != 6 || fields[0] != "arn" || !strings.HasPrefix(fields[1], "aws") || fields[2] != "cloudformation" {
		return bad("is not an ARN of CloudFormation")
	}
	resource := strings.Split(fields[5], "/")
	if len(resource) != 3 || resource[0] != "stack" {
		return bad("names no stack")
	}
	a := StackARN{fields[1], fields[3], fields[4], resource[1], resource[2]}
	switch {
	case !isName(a.Partition, "-"):
		return bad("has a bad partition")
	case a.Region == "" || !isName(a.Region, "-"):
		return bad("has a bad region")
	case a.Account == "" || !isName(a.Account, ""):
		return bad("has a bad account")
	case !isStackName(a.Name):
		return bad("has a bad stack name")
	case a.GUID == "" || len(a.GUID) > 128 || !isName(a.GUID, "-"):
		return bad("has a bad GUID")
	}
	return a, nil
}

func isStackName(name string) bool {
	return name != "" && len(name) <= 128 && isName(name, "-") && isName(name[:1], "") && (name[0] < '0' || name[0] > '9')
}

// Partition returns the partition of a region: aws-cn for cn-*, aws-us-gov for us-gov-*, aws-eusc for eusc-*, otherwise
// aws.
func Partition(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	case strings.HasPrefix(region, "eusc-"):
		return "aws-eusc"
	}
	return "aws"
}
