package aws

import "regexp"

// Patterns of names. Sources: the resource schemas of CloudFormation.
var (
	identityLetters  = regexp.MustCompile(`^[\w+=,.@-]+$`)
	machineLetters   = regexp.MustCompile(`^[\w-]+$`)
	groupLetters     = regexp.MustCompile(`^[.\-_/#A-Za-z0-9]+$`)
	parameterLetters = regexp.MustCompile(`^[\w./-]+$`)
	secretLetters    = regexp.MustCompile(`^[A-Za-z0-9/_+=.@-]+$`)
	layerLetters     = regexp.MustCompile(`^(arn:[\w-]+:lambda:[\w-]+:\d{12}:layer:)?[\w-]+$`)
	bucketForm       = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*[a-z0-9]$`)
	repositoryForm   = regexp.MustCompile(`^[a-z0-9]+([._/-]+[a-z0-9]+)*$`)
	aliasForm        = regexp.MustCompile(`^alias/[\w:/-]+$`)
)
