// Package pintle is for writing providers of custom resources: the programs that AWS CloudFormation and Alibaba Cloud ROS
// call when a stack with a resource of type Custom::Something is created, updated or deleted.
//
// A provider has a struct for its properties, one for its attributes, three methods, and a call of [Main]:
//
//	type Properties struct {
//		Domain string `pintle:"required,immutable"`
//		Size   int    `pintle:"min=1,max=100,default=10"`
//	}
//
//	type Attributes struct{ URL string }
//
//	func main() { pintle.Main(pintle.New(sites{})) }
//
//	func (sites) Create(ctx context.Context, r *pintle.CreateRequest[Properties]) (pintle.Response[Attributes], error)
//	func (sites) Update(ctx context.Context, r *pintle.UpdateRequest[Properties]) (pintle.Response[Attributes], error)
//	func (sites) Delete(ctx context.Context, r *pintle.DeleteRequest[Properties]) error
//
// The same program runs as a Lambda function, behind SNS, as a local process of the pintle command, as an HTTP
// server, and for ROS. [New] documents the tags of properties, [Provider] the methods, [Response] the answers,
// [Server] the delivery, and [ROSConfig] the differences in ROS. docs/provider-guide.md is the guide and contains the
// compatibility promise.
//
// Package pintletest tests a provider. Packages waiter and statemachine keep waits. Package awscall calls AWS
// services, cdkprovider runs functions of the CDK's provider framework, and awslambda is for programs that use
// aws-lambda-go.
package pintle
