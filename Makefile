# Plain commands with names. Run `make help` for the list.

SEEDS     ?= 5000
STARTS    ?= 100
FAILOVERS ?= 20
FUZZTIME  ?= 20000x
SOAK      ?= 1h
ROUNDS    ?= 3
BOTOCORE  ?= $(shell python3 -c "import botocore; print(botocore.__path__[0])")

.DEFAULT_GOAL := help
.PHONY: help build test race vet lint fmt fuzz sim mutations soak faults bench templatecost overhead lintcost starts failover clients walkthrough picture states lifecycle models calls oracle callcost handlers cdk cdktime release ci proof report compare peers coldstart browser deployers vulnerabilities site prose

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the binary, as bin/pintle
	go build -o bin/pintle ./cmd/pintle

test: ## every test; needs nothing but Go
	go test -timeout 45m ./...

race: ## every test with the race detector, in random order
	go test -race -shuffle=on ./...

vet: ## go vet
	go vet ./...

lint: ## golangci-lint as tools/go.mod pins it; the first run builds it, which takes minutes
	go tool -modfile=tools/go.mod golangci-lint run

fmt: ## gofmt the tree
	gofmt -w .

fuzz: ## every fuzz target, FUZZTIME each (20000x, or a duration such as 1m)
	tools/fuzz $(FUZZTIME)

sim: ## the engine's simulation over SEEDS seeds, and what it covered
	go test ./internal/engine -count=1 -timeout 60m -run '^Test(Nested)?Simulation$$' -v -sim.seeds=$(SEEDS) -sim.nested=$$(($(SEEDS) / 10))

mutations: ## break the engine on purpose; the simulation must find each mutation
	go test ./internal/engine -count=1 -timeout 20m -run '^TestMutations$$' -sim.mutations

soak: ## kill servers under load for SOAK (1h) on each database, and reconcile stacks with a provider's ledger
	go test ./cmd/pintle -count=1 -timeout 0 -run '^TestSoak$$' -v -soak.for=$(SOAK)

faults: ## every possible fault at every write of fixed scenarios, on every store; every disk access of SQLite
	PINTLE_REQUIRE=postgres go test ./internal/engine -count=1 -timeout 60m -run '^TestFaultTable$$' -faults.all
	go test ./internal/store/sqlite -count=1 -timeout 60m -v -run '^TestDiskErrors$$' -disk.every=1

prose: ## the language of documentation and comments; needs vale: go -C tools/vale install tool
	tools/vale/check

site: ## the documentation site, into site/; needs Python
	tools/site/build

vulnerabilities: ## known vulnerabilities of modules that the code calls, and of the Go that builds it
	tools/vulnerabilities/check

bench: ## the whole cycle of a request compared with a floor; docs/performance.md defines it
	cd bench && go run ./proof -only cycles -rounds $(ROUNDS)

proof: ## our own figures and their goals: idle, start, 100,000 pending, cycles, large stacks; ROUNDS of each (3), 25 minutes
	cd bench && go run ./proof -rounds $(ROUNDS)

compare: ## compare our cycle with its floor, River, DBOS and go-workflows, ROUNDS of each (3) in turns; nine minutes
	cd bench && go run ./compare -rounds $(ROUNDS)

peers: ## compare pintle serve with moto, ministack and LocalStack, ROUNDS (3) in turns; installs them into a cache first; three minutes
	cd bench && PINTLE_PEERS="$$(../tools/peers/install)" go run ./peers -rounds $(ROUNDS)

coldstart: ## compare the first deploy of an app with ten functions with bare starts of their interpreter, and with ministack; ROUNDS (3)
	cd bench && PINTLE_PEERS="$$(../tools/peers/install)" go run ./peers -parts coldstart -only pintle,ministack -rounds $(ROUNDS)

report: ## regenerate the tables and pictures of docs/performance.md from bench/results
	cd bench && go run ./report

templatecost: ## the cost of a template per resource, with 500 and with 5,000 of them
	go test ./internal/language/template -run '^$$' -bench Template -benchtime 3s

overhead: ## the cost of an event for a provider, in turns with one on aws-lambda-go
	go test ./internal/dev/bench -run '^$$' -bench Overhead -benchtime 1x -timeout 20m

lintcost: ## duration of validate for 500 resources, in turns with cfn-lint
	PINTLE_REQUIRE=cfn-lint go test ./cmd/pintle -count=1 -timeout 20m -run '^TestLintCost$$' -v -lint.cost

starts: ## two nodes started at the same instant on an empty PostgreSQL database, STARTS times
	PINTLE_REQUIRE=postgres go test ./internal/store/postgres -count=1 -timeout 30m -v -run '^TestStartedAtOnce$$' -starts=$(STARTS)

failover: ## kill the primary of two PostgreSQL servers under load, FAILOVERS times, also with Patroni; prints what was lost
	PINTLE_REQUIRE=postgres go test ./cmd/pintle -count=1 -timeout 60m -v -run '^(TestFailover|TestPatroni)$$' -failovers=$(FAILOVERS)

clients: ## every test, with the AWS CLI, boto3, cfn-lint, Python and Node required instead of skipped
	PINTLE_REQUIRE=aws,boto3,cfn-lint,python3,node go test -count=1 -timeout 45m ./...

walkthrough: ## deploy the example, then delete it
	go run ./cmd/pintle deploy examples/walkthrough
	go run ./cmd/pintle delete examples/walkthrough

picture: ## draw docs/walkthrough.svg, the picture in the README, from a run
	{ echo '$$ go run ./cmd/pintle deploy examples/walkthrough'; \
	  go run ./cmd/pintle deploy examples/walkthrough 2>&1; echo; \
	  echo '$$ go run ./cmd/pintle deploy examples/walkthrough --template examples/walkthrough/template.update.json'; \
	  go run ./cmd/pintle deploy examples/walkthrough --template examples/walkthrough/template.update.json 2>/dev/null; echo; \
	  echo '$$ go run ./cmd/pintle delete examples/walkthrough'; \
	  go run ./cmd/pintle delete examples/walkthrough 2>/dev/null; } \
	| sed 's#$(CURDIR)/##g' | (cd tools && go run ./picture) > docs/walkthrough.svg

states: ## regenerate docs/states.md from the engine's table
	go generate ./internal/engine

lifecycle: ## regenerate docs/lifecycle.md from the transcripts that the tests play
	go generate ./internal/dev/lifecycle

models: ## rebuild the bundle of AWS models from BOTOCORE, the directory of an installed botocore
	go run ./awscall/internal/gen -botocore "$(BOTOCORE)"

calls: ## compare every operation of every AWS service with botocore, as requests and endpoints; two minutes
	PINTLE_REQUIRE=botocore go test ./awscall/internal/shape -count=1 -v -run AsBotocore -aws.all
	PINTLE_REQUIRE=botocore go test ./awscall/internal/endpoint ./internal/base/awsapi/model -count=1 -v -run 'Botocore|Reproducible'

oracle: ## compare the CDK's own handler with ours, and run its framework over our functions, under Node; installs both into a cache first
	PINTLE_CDK="$$(tools/cdk/install)" PINTLE_REQUIRE=cdk,node go test -count=1 -v -run 'Oracle|Framework|CoreEntrypoint' ./awscall/... ./internal/cloud/lambda

callcost: ## the cost of an AWS call as a resource, compared with the CDK's own handler, boto3 and the AWS CLI, in turns; three minutes
	PINTLE_CDK="$$(tools/cdk/install)" go run ./internal/dev/bench/callcost

handlers: ## check, deploy and serve handlers based on third-party libraries; installs those into a cache first
	PINTLE_HANDLERS="$$(tools/handlers/install)" PINTLE_CDK="$$(tools/cdk/install)" PINTLE_JAVA="$$(tools/java/install)" \
		PINTLE_REQUIRE=handlers,cdk,java.libraries,node,boto3 \
		go test ./internal/author/check ./cmd/pintle -count=1 -run '^(TestHandlers|TestLibraries)$$' -v

cdk: ## deploy apps of the CDK with its own command; installs it into a cache first
	PINTLE_CDK_CLI="$$(tools/cdkapps/install)" PINTLE_CDK_LANGUAGES="$$(tools/cdklanguages/install)" \
		PINTLE_OSS_CLIENTS="$$(tools/oss/install)" PINTLE_REQUIRE=cdk.cli,cdk.languages,oss,java,javac,node,python3,boto3 \
		go test -count=1 -v -parallel 4 -timeout 30m ./internal/dev/cdk ./examples/cdk

cdktime: ## duration of a CDK deploy, compared with clouds that respond at once or after a moment; three minutes
	PINTLE_CDK_CLI="$$(tools/cdkapps/install)" go run ./internal/dev/bench/cdktime

release: ## archives, wheels and npm packages of every platform into dist/, with checksums and bills of materials; the first one is built twice and compared
	go run ./internal/dev/release -out dist -twice $(if $(VERSION),-version $(VERSION)) $(if $(TARGETS),-targets $(TARGETS))

deployers: ## SAM CLI, the Serverless Framework, Ansible and rain against pintle serve; installs them first, which takes minutes
	go -C tools/rain install tool
	PATH="$$PATH:$$(go env GOPATH)/bin" PINTLE_DEPLOYERS="$$(tools/deployers/install)" PINTLE_REQUIRE=deployers,rain,node,python3 \
		go test ./cmd/pintle -count=1 -run '^TestDeployers$$' -v

browser: ## the console in a real browser; UPDATE=-console.update regenerates the pictures in its docs
	PINTLE_PLAYWRIGHT="$$(tools/browser/install)" PINTLE_REQUIRE=playwright,chromium,node go test ./cmd/pintle -count=1 -v -run '^TestBrowser' -console.resources=10000 $(UPDATE)

ci: ## everything that runs before a change lands; .ci/run quick is a part of it that takes minutes
	.ci/run
