// Package pintle is for writing providers of custom resources: the code that AWS CloudFormation calls, by way of a
// Lambda function, when a stack with a resource of type Custom::Something is created, updated or deleted.
//
// A provider is three methods on structs of its own, and a call of [Main]:
//
//	type Properties struct {
//		Domain string        `pintle:"required,immutable"`
//		Size   int           `pintle:"min=1,max=100,default=10"`
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
// The same program runs as a Lambda function (runtime provided.al2023, the executable named bootstrap), behind an SNS
// topic or not, as a local process of the pintle command, as an HTTP server, and for Alibaba Cloud ROS: see the section ROS.
// Package pintletest plays a whole life of a resource against it. Those who want requests as they come write a
// [HandlerFunc], and those who have functions for the provider framework of the CDK use [OnEvent] or [Remote].
//
// # Properties
//
// Fields are named by their json tags, and read from what CloudFormation makes of a template: "5" into a number, "true"
// into a bool, "90s" or a number of seconds into a [time.Duration], whatever has an UnmarshalText method from a string,
// lists, maps, structs and pointers of them, and [json.RawMessage] as it came. What the struct does not have is refused
// by its name. The tag pintle has options with commas between:
//
//	required            it must be there
//	default=VALUE       when it is not there; JSON for lists, maps and structs
//	min=N, max=N        of a number or duration
//	length=A..B         of a text in characters, of a list or map; either end may be left out
//	pattern=REGEXP      somewhere in a text; anchor it with ^ and $ to match the whole
//	enum=A|B|C          one of these
//	immutable           a change of it replaces the resource
//	secret              its values are replaced by **** in reasons and in the log; so are those of a [Secret]
//	help=TEXT           for the schema
//
// A value with a comma in it is put into single quotes: pattern='^[a-z]{1,8}$'. On a list or map the rules but length are
// for each item. Properties that were accepted once, with a Delete or as the old ones of an Update, are read without
// these checks; see [WithMigrate]. Of old ones, what cannot be read at all is zero: see [UpdateRequest].
//
// # The physical ID
//
// The physical ID is the name of the thing that was made. Create chooses it; without a choice it is the ID of the
// request. Update returns the same ID, or none, to say that the thing was changed in place. An Update that returns
// another ID has made a second thing: when the whole stack has been updated the service sends a Delete for the first.
// Delete cannot change it.
//
// # Replacement
//
// An Update that changes an immutable property is answered by Create, with the new ID. If that fails, what it made is
// deleted by Delete, and the resource stays the old one. When the replacement worked and the update is rolled back all
// the same, Create is called for the old properties; it should find what is still there.
//
// # Failure
//
// An error makes the request FAILED and its text is the reason that people see; see [Hide]. The service then undoes what
// was done, which it does by calling the provider again:
//
//   - A Create that fails after it made something should return the ID of that along with the error. It gets a Delete
//     with that ID.
//   - A Create that returns an error and no ID has made nothing: its Delete is answered without calling the handler,
//     see [CreateFailed].
//   - An Update that fails is followed by an Update in the other direction.
//   - A Delete that fails leaves the stack in a failed state, so a Delete of what is already gone should succeed: [Gone].
//
// A panic counts as an error; it does not end the program.
//
// # Repetition
//
// A request may come more than once with the same [Request.RequestID]: Lambda repeats calls that it takes for failed, SNS
// delivers at least once, an engine that crashed asks again. What is at work is waited for, and what was answered is
// answered again without calling the handler, as far as [Config.Memory] reaches. Beyond that handlers should find what
// an earlier call made; [Request.Token] helps with APIs that take a client token.
//
// # Time
//
// The context of a handler ends shortly before the time of the function is over, or before the service stops listening
// (ServiceTimeout). A handler that returns then gets its own answer through; for one that does not, the package answers
// FAILED while there is time, instead of letting the service wait an hour for an answer that never comes. What a Create
// without an answer has made is not known, so it gets a Delete, with the ID of the request as the physical ID. On Lambda
// the program then ends, because a handler that goes on would be at work beside that Delete; behind HTTP the Delete
// waits for it.
//
// # Waiting
//
// An operation that goes on after its method has returned is waited for by the method Ready, see [WithReady] and
// [Waiting]. That may outlast the time of the function, the process, and this version of the program, if somebody takes the
// wait over: a [Waiter], or Pintle for a program that it hosts. Otherwise it is done in place.
//
// # The answer
//
// An answer has at most 4,096 bytes. A longer reason loses its middle; attributes that do not fit make the request FAILED
// with a reason that says which are too large. The answer is sent until it arrives, within the time of the function. The
// URL it is sent to lets anyone answer, so it never appears in a log, a reason or an error; the properties and
// attributes, which may hold secrets, are not logged either.
//
// # ROS
//
// Requests of Alibaba Cloud ROS are told from those of CloudFormation by what is in them, and answered as ROS wants it. They
// come from Function Compute (a custom runtime, or the Go runtime), over HTTP for tokens web and web[sync], or by SMQ; see
// [ROSConfig]. A handler need not know, but for this:
//
//   - ROS cannot replace a resource in an Update. A change of an immutable property is refused before anything is done,
//     with a reason that tells how to have the resource deleted and made anew, and an Update that answers with another ID
//     has failed.
//   - ROS has no NoEcho: it shows attributes to everybody who may read the stack. An answer that holds secrets is refused,
//     unless [ROSConfig.PlainSecrets] allows it; by [New] before anything is done, if its attributes always hold some.
//   - A physical ID has at most 255 bytes. ROS heeds that of a success only, so a Delete after a Create that failed may
//     come without one: it gets the ID that the Create returned, if the memory still has it, and is answered without
//     calling the handler otherwise.
//   - Properties keep their JSON types. The time that ROS waits is not in a request: [ROSConfig.Timeout].
package pintle
