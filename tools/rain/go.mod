// This module pins rain, a deployment tool that tests drive a server with: go -C tools/rain install tool
module github.com/pintle-dev/pintle/tools/rain

go 1.26.2

tool github.com/aws-cloudformation/rain/cmd/rain

require (
	github.com/apple/pkl-go v0.8.0 // indirect
	github.com/appscode/jsonpatch v1.0.1 // indirect
	github.com/aws-cloudformation/rain v1.24.4 // indirect
	github.com/aws/aws-sdk-go-v2 v1.41.9 // indirect
	github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream v1.7.9 // indirect
	github.com/aws/aws-sdk-go-v2/config v1.32.16 // indirect
	github.com/aws/aws-sdk-go-v2/credentials v1.19.15 // indirect
	github.com/aws/aws-sdk-go-v2/feature/ec2/imds v1.18.22 // indirect
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.4.25 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.7.25 // indirect
	github.com/aws/aws-sdk-go-v2/internal/v4a v1.4.23 // indirect
	github.com/aws/aws-sdk-go-v2/service/acm v1.38.2 // indirect
	github.com/aws/aws-sdk-go-v2/service/bedrockruntime v1.50.5 // indirect
	github.com/aws/aws-sdk-go-v2/service/cloudcontrol v1.29.14 // indirect
	github.com/aws/aws-sdk-go-v2/service/cloudformation v1.71.10 // indirect
	github.com/aws/aws-sdk-go-v2/service/cloudfront v1.61.1 // indirect
	// Newer than rain asks for: the versions of its own go.mod are no longer on every proxy.
	github.com/aws/aws-sdk-go-v2/service/codeartifact v1.39.2 // indirect
	github.com/aws/aws-sdk-go-v2/service/ec2 v1.299.0 // indirect
	github.com/aws/aws-sdk-go-v2/service/iam v1.53.8 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/accept-encoding v1.13.8 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/checksum v1.9.14 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/presigned-url v1.13.22 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/s3shared v1.19.22 // indirect
	github.com/aws/aws-sdk-go-v2/service/kms v1.50.5 // indirect
	github.com/aws/aws-sdk-go-v2/service/rds v1.118.1 // indirect
	github.com/aws/aws-sdk-go-v2/service/s3 v1.100.0 // indirect
	github.com/aws/aws-sdk-go-v2/service/sagemaker v1.245.0 // indirect
	github.com/aws/aws-sdk-go-v2/service/servicequotas v1.34.6 // indirect
	github.com/aws/aws-sdk-go-v2/service/signin v1.0.10 // indirect
	github.com/aws/aws-sdk-go-v2/service/ssm v1.68.5 // indirect
	github.com/aws/aws-sdk-go-v2/service/sso v1.30.16 // indirect
	github.com/aws/aws-sdk-go-v2/service/ssooidc v1.35.20 // indirect
	github.com/aws/aws-sdk-go-v2/service/sts v1.42.0 // indirect
	github.com/aws/smithy-go v1.26.0 // indirect
	github.com/chzyer/readline v1.5.1 // indirect
	github.com/fatih/color v1.19.0 // indirect
	github.com/gabriel-vasile/mimetype v1.4.13 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/gookit/color v1.6.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/manifoldco/promptui v0.9.0 // indirect
	github.com/mattn/go-colorable v0.1.14 // indirect
	github.com/mattn/go-isatty v0.0.21 // indirect
	github.com/nathan-fiscaletti/consolesize-go v0.0.0-20260406063853-3bac975de715 // indirect
	github.com/spf13/cobra v1.10.2 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	github.com/vmihailenco/msgpack/v5 v5.4.1 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	github.com/xo/terminfo v0.0.0-20220910002029-abceb7e1c41e // indirect
	golang.org/x/exp v0.0.0-20260410095643-746e56fc9e2f // indirect
	golang.org/x/sys v0.43.0 // indirect
	golang.org/x/term v0.42.0 // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
