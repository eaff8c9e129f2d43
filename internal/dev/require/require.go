// Package require finds the external programs that tests need: the AWS CLI, Python and its libraries, PostgreSQL.
//
// A test that needs one calls [Tool], [Python] or [Postgres] first. If the program is not installed, the test is
// skipped with the reason, so a plain go test needs only Go. [Variable] lists required names: for those, a missing
// program fails the test, so that CI cannot pass by skipping everything.
package require

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Variable is the environment variable with the required names, separated by commas, such as "aws,boto3". A test
// fails if its program is missing.
const Variable = "PINTLE_REQUIRE"

// WithoutVariable is the environment variable with the names whose tests are skipped even if they are installed, in
// the same form. It is for a second test run with another purpose. -short skips all of them.
const WithoutVariable = "PINTLE_WITHOUT"

// Tool returns the path of a program on PATH. If it is missing, Tool skips the test, or fails it if [Variable] lists
// name. An AWS CLI that does not support AWS_ENDPOINT_URL counts as missing, because its calls would go to AWS.
func Tool(t testing.TB, name string) string {
	t.Helper()
	leftOut(t, name)
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, name, name+" is not on PATH")
	}
	if name == "aws" {
		out, _ := exec.Command(path, "--version").Output() // without a version it counts as missing
		if !knowsEndpoints(string(out)) {
			missing(t, name, path+" does not know AWS_ENDPOINT_URL: use version 1.29 or 2.13 or newer")
		}
	}
	return path
}

// knowsEndpoints reports whether the AWS CLI with this version output supports AWS_ENDPOINT_URL. Source: the
// changelogs of aws-cli, 1.29.0 and 2.13.0.
func knowsEndpoints(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "aws-cli/%d.%d.", &major, &minor); err != nil {
		return false
	}
	return major == 1 && minor >= 29 || major == 2 && minor >= 13 || major > 2
}

// Python returns the path of a python3 on PATH that can import module. If it is missing, Python skips the test, or
// fails it if [Variable] lists module.
func Python(t testing.TB, module string) string {
	t.Helper()
	leftOut(t, module)
	path, err := exec.LookPath("python3")
	if err != nil {
		missing(t, module, "python3 is not on PATH")
	}
	script := "import importlib, sys; importlib.import_module(sys.argv[1])"
	if out, err := exec.Command(path, "-c", script, module).CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		missing(t, module, path+" cannot import "+module+": "+lines[len(lines)-1])
	}
	return path
}

// AWSCLI2 returns the path of version 2 of the AWS CLI: the aws on PATH, or the one of Debian's package awscli. If it
// is missing, AWSCLI2 skips the test, or fails it if [Variable] lists aws2.
func AWSCLI2(t testing.TB) string {
	t.Helper()
	leftOut(t, "aws2")
	for _, name := range []string{"aws", "/usr/bin/aws"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if out, err := exec.Command(path, "--version").Output(); err == nil && strings.HasPrefix(string(out), "aws-cli/2.") {
			return path
		}
	}
	missing(t, "aws2", "there is no version 2 of the AWS CLI: apt-get install awscli")
	return ""
}

// PostgresVariable is the environment variable with the directory of PostgreSQL's programs initdb and postgres.
const PostgresVariable = "PINTLE_POSTGRES_BIN"

// Postgres returns the directory of PostgreSQL's server programs; see [FindPostgres]. If it is missing, Postgres
// skips the test, or fails it if [Variable] lists postgres.
func Postgres(t testing.TB) string {
	t.Helper()
	leftOut(t, "postgres")
	dir, err := FindPostgres()
	if err != nil {
		if os.Getenv(PostgresVariable) != "" {
			t.Fatalf("%s", err.Error())
		}
		missing(t, "postgres", err.Error())
	}
	return dir
}

// FindPostgres returns the directory of PostgreSQL's server programs. It tries [PostgresVariable], then the postgres
// on PATH, then the newest below /usr/lib/postgresql. Programs other than tests may call it too.
func FindPostgres() (string, error) {
	if dir := os.Getenv(PostgresVariable); dir != "" {
		if !hasPostgres(dir) {
			return "", fmt.Errorf("%s is %s, where there are no initdb and postgres", PostgresVariable, dir)
		}
		return dir, nil
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && hasPostgres(filepath.Dir(path)) {
			return filepath.Dir(path), nil
		}
	}
	newest := newestPostgres("initdb", "postgres")
	if newest == "" {
		return "", errors.New("PostgreSQL is neither named by " + PostgresVariable + " nor on PATH nor in /usr/lib/postgresql")
	}
	return newest, nil
}

// PgBouncer returns the path of pgbouncer: the one on PATH, or the one in /usr/sbin. If it is missing, PgBouncer
// skips the test, or fails it if [Variable] lists pgbouncer.
func PgBouncer(t testing.TB) string {
	t.Helper()
	leftOut(t, "pgbouncer")
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, "pgbouncer", "pgbouncer is neither on PATH nor in /usr/sbin")
	return ""
}

// HighAvailability holds the programs of a cluster that Patroni controls.
type HighAvailability struct {
	// Patroni and Etcd are paths of programs.
	Patroni, Etcd string
	// Postgres is the program directory of a PostgreSQL with pg_basebackup and pg_rewind.
	Postgres string
}

// Patroni returns patroni and etcd on PATH, and the programs of the newest PostgreSQL below /usr/lib/postgresql. If
// one of them is missing, Patroni skips the test, or fails it if [Variable] lists patroni.
func Patroni(t testing.TB) HighAvailability {
	t.Helper()
	leftOut(t, "patroni")
	patroni, err := exec.LookPath("patroni")
	etcd, missed := exec.LookPath("etcd")
	postgres := newestPostgres("postgres", "pg_basebackup", "pg_rewind")
	if err = errors.Join(err, missed); err != nil || postgres == "" {
		missing(t, "patroni", "there are no patroni, etcd and pg_rewind: apt-get install patroni etcd-server postgresql")
		return HighAvailability{}
	}
	return HighAvailability{Patroni: patroni, Etcd: etcd, Postgres: postgres}
}

// newestPostgres returns the directory of the newest PostgreSQL below /usr/lib/postgresql that has all programs, or
// "".
func newestPostgres(programs ...string) (newest string) {
	version := 0
	installed, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the only error is a malformed pattern
	for _, dir := range installed {
		if v, err := strconv.Atoi(filepath.Base(filepath.Dir(dir))); err == nil && v > version && has(dir, programs...) {
			newest, version = dir, v
		}
	}
	return newest
}

func hasPostgres(dir string) bool { return has(dir, "initdb", "postgres") }

// has reports whether a directory has all programs.
func has(dir string, programs ...string) bool {
	for _, name := range programs {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

// CDKVariable is the environment variable with the directory where tools/cdk/install puts the handler of the CDK's
// AwsCustomResource and its dependencies.
const CDKVariable = "PINTLE_CDK"

// CDK returns the directory in [CDKVariable]. If it is not set, CDK skips the test, or fails it if [Variable] lists
// cdk.
func CDK(t testing.TB) string {
	t.Helper()
	return made(t, "cdk", CDKVariable, "tools/cdk/install", "cdk.json")
}

// CDKCLIVariable is the environment variable with the directory where tools/cdkapps/install puts the CDK command, its
// library, and the dependencies of functions in its apps.
const CDKCLIVariable = "PINTLE_CDK_CLI"

// CDKCLI returns the directory in [CDKCLIVariable]. If it is not set, CDKCLI skips the test, or fails it if
// [Variable] lists cdk.cli.
func CDKCLI(t testing.TB) string {
	t.Helper()
	return made(t, "cdk.cli", CDKCLIVariable, "tools/cdkapps/install", "node_modules/.bin/cdk")
}

// CDKLanguagesVariable is the environment variable with the directory where tools/cdklanguages/install puts the
// TypeScript compiler, and the AWS CDK for Python, Java and Go.
const CDKLanguagesVariable = "PINTLE_CDK_LANGUAGES"

// CDKLanguages returns the directory in [CDKLanguagesVariable]. If it is not set, CDKLanguages skips the test, or
// fails it if [Variable] lists cdk.languages.
func CDKLanguages(t testing.TB) string {
	t.Helper()
	return made(t, "cdk.languages", CDKLanguagesVariable, "tools/cdklanguages/install", "cdklanguages.json")
}

// PopcoreVariable is the environment variable with the directory where tools/popcore/install puts Alibaba Cloud's
// clients.
const PopcoreVariable = "PINTLE_POPCORE"

// Popcore returns the directory in [PopcoreVariable]. If it is not set, Popcore skips the test, or fails it if
// [Variable] lists popcore.
func Popcore(t testing.TB) string {
	t.Helper()
	return made(t, "popcore", PopcoreVariable, "tools/popcore/install", "popcore.json")
}

// OSSVariable is the environment variable with the directory where tools/oss/install puts the clients of Alibaba
// Cloud OSS.
const OSSVariable = "PINTLE_OSS_CLIENTS"

// OSS returns the directory in [OSSVariable]. If it is not set, OSS skips the test, or fails it if [Variable] lists
// oss.
func OSS(t testing.TB) string {
	t.Helper()
	return made(t, "oss", OSSVariable, "tools/oss/install", "oss.json")
}

// HandlersVariable is the environment variable with the directory where tools/handlers/install puts third-party
// libraries for custom resource handlers.
const HandlersVariable = "PINTLE_HANDLERS"

// Handlers returns the directory in [HandlersVariable]. If it is not set, Handlers skips the test, or fails it if
// [Variable] lists handlers.
func Handlers(t testing.TB) string {
	t.Helper()
	return made(t, "handlers", HandlersVariable, "tools/handlers/install", "handlers.json")
}

// JavaVariable is the environment variable with the directory where tools/java/install puts AWS's libraries for Java
// handlers: lib, and the Maven repository .m2/repository of a home directory.
const JavaVariable = "PINTLE_JAVA"

// Java returns the directory in [JavaVariable]. If it is not set, Java skips the test, or fails it if [Variable]
// lists java.libraries.
func Java(t testing.TB) string {
	t.Helper()
	return made(t, "java.libraries", JavaVariable, "tools/java/install", "java.json")
}

// DeployersVariable is the environment variable with the directory where tools/deployers/install puts deployment
// tools: SAM CLI, the Serverless Framework and Ansible.
const DeployersVariable = "PINTLE_DEPLOYERS"

// Deployers returns the directory in [DeployersVariable]. If it is not set, Deployers skips the test, or fails it if
// [Variable] lists deployers.
func Deployers(t testing.TB) string {
	t.Helper()
	return made(t, "deployers", DeployersVariable, "tools/deployers/install", "deployers.json")
}

// made returns the directory in variable, which script creates. The directory is complete if it contains mark. If
// variable is not set, made skips the test, or fails it if [Variable] lists name.
func made(t testing.TB, name, variable, script, mark string) string {
	t.Helper()
	leftOut(t, name)
	dir := os.Getenv(variable)
	if dir == "" {
		missing(t, name, variable+" names no folder that "+script+" has made")
	}
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(mark))); err != nil {
		t.Fatalf("%s is %s, which %s has not made", variable, dir, script)
	}
	return dir
}

// PlaywrightVariable is the environment variable with the directory where tools/browser/install puts playwright-core
// and axe-core.
const PlaywrightVariable = "PINTLE_PLAYWRIGHT"

// Playwright returns the directory in [PlaywrightVariable]. If it is not set, Playwright skips the test, or fails it
// if [Variable] lists playwright.
func Playwright(t testing.TB) string {
	t.Helper()
	leftOut(t, "playwright")
	dir := os.Getenv(PlaywrightVariable)
	if dir == "" {
		missing(t, "playwright", PlaywrightVariable+" names no folder with playwright-core, as tools/browser/install makes it")
	}
	if _, err := os.Stat(filepath.Join(dir, "browser.json")); err != nil {
		t.Fatalf("%s is %s, which tools/browser/install has not made", PlaywrightVariable, dir)
	}
	return dir
}

// Device skips the test if a device of this machine cannot be opened, or fails it if [Variable] lists name. -short does not exclude it.
func Device(t testing.TB, name, path string) {
	t.Helper()
	device, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		missing(t, name, err.Error())
	}
	if err := device.Close(); err != nil {
		t.Fatal(err)
	}
}

// leftOut skips the test if name is excluded and not required. -short excludes every name.
func leftOut(t testing.TB, name string) {
	t.Helper()
	if testing.Short() && !named(os.Getenv(Variable), name) {
		t.Skip("-short leaves " + name + " out")
	}
	if named(os.Getenv(WithoutVariable), name) && !named(os.Getenv(Variable), name) {
		t.Skip(WithoutVariable + " leaves " + name + " out")
	}
}

// missing skips the test, or fails it if name is required.
func missing(t testing.TB, name, reason string) {
	t.Helper()
	if named(os.Getenv(Variable), name) {
		t.Fatalf("%s, and %s requires it", reason, Variable)
	}
	t.Skip(reason)
}

func named(list, name string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(item string) bool {
		return strings.TrimSpace(item) == name
	})
}
