// Package constructs stands for the code that tests generate: it keeps the modules of that code in go.mod.
package constructs

import (
	_ "github.com/aws/aws-cdk-go/awscdk/v2"
	_ "github.com/aws/constructs-go/constructs/v10"
	_ "github.com/aws/jsii-runtime-go"
)
