package sts_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	client "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/api/sts"
)

const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

// door is the API behind a verifier, as in the server.
type door struct {
	url string
	now time.Time
}

func newDoor(t *testing.T, dev, roles bool) *door {
	t.Helper()
	d := &door{now: time.Now()}
	clock := func() time.Time { return d.now }
	sessions, err := sigv4.NewSessions([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := sigv4.New(sigv4.Config{Sessions: sessions, Dev: dev, Now: clock, Skew: 24 * time.Hour, Lookup: func(id string) (sigv4.Key, bool) {
		return sigv4.Key{ID: id, Secret: secret, Account: "111122223333"}, id == "AKID"
	}})
	if err != nil {
		t.Fatal(err)
	}
	config := sts.Config{AnyAccount: dev, Now: clock, Caller: func(ctx context.Context) (api.Caller, bool) {
		id, ok := sigv4.FromContext(ctx)
		return api.Caller{Account: id.Account, ARN: id.ARN, UserID: id.UserID}, ok
	}}
	if roles {
		config.Issue = func(s sts.Session) sts.Keys {
			session := sigv4.Session(s)
			keys := sessions.Issue(session)
			return sts.Keys{ID: keys.ID, Secret: string(keys.Secret), Token: string(keys.Token), ARN: session.ARN(), UserID: session.UserID()}
		}
	}
	service, err := sts.New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := verifier.Verify(r)
		if refused, ok := errors.AsType[*sigv4.Error](err); ok {
			service.WriteError(w, r, &query.Error{Code: refused.Code, Message: refused.Message, Status: refused.Status})
			return
		}
		service.ServeHTTP(w, r.WithContext(sigv4.WithIdentity(r.Context(), id)))
	}))
	t.Cleanup(server.Close)
	d.url = server.URL
	return d
}

func (d *door) client(id, secret, token string) *client.Client {
	return client.New(client.Options{
		Region: "eu-west-1", BaseEndpoint: &d.url, Credentials: credentials.NewStaticCredentialsProvider(id, secret, token), RetryMaxAttempts: 1,
	})
}

func said(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return "no error"
	}
	return api.ErrorCode() + ": " + api.ErrorMessage()
}

func TestNew(t *testing.T) {
	if _, err := sts.New(sts.Config{}); err == nil {
		t.Error("no error")
	}
}

func TestAssumeRole(t *testing.T) {
	d, ctx := newDoor(t, false, true), t.Context()
	c := d.client("AKID", secret, "")
	who, err := c.GetCallerIdentity(ctx, nil)
	if err != nil || *who.Arn != "arn:aws:iam::111122223333:root" || *who.UserId != "111122223333" {
		t.Fatalf("%+v %v", who, err)
	}
	const role = "arn:aws:iam::111122223333:role/path/to/deploy"
	out, err := c.AssumeRole(ctx, &client.AssumeRoleInput{
		RoleArn: aws.String(role), RoleSessionName: aws.String("me@home"), DurationSeconds: aws.Int32(900), ExternalId: aws.String("any"), SourceIdentity: aws.String("me"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if left := out.Credentials.Expiration.Sub(d.now); left > 15*time.Minute || left < 15*time.Minute-time.Second || *out.SourceIdentity != "me" {
		t.Errorf("it lasts %v: %+v", left, out)
	}
	assumed := d.client(*out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken)
	who, err = assumed.GetCallerIdentity(ctx, nil)
	if err != nil || *who.Account != "111122223333" || *who.Arn != "arn:aws:sts::111122223333:assumed-role/deploy/me@home" ||
		*who.Arn != *out.AssumedRoleUser.Arn || *who.UserId != *out.AssumedRoleUser.AssumedRoleId {
		t.Errorf("%+v %+v %v", who, out.AssumedRoleUser, err)
	}
	in := &client.AssumeRoleInput{RoleArn: aws.String(role), RoleSessionName: aws.String("me"), DurationSeconds: aws.Int32(3601)}
	_, err = assumed.AssumeRole(ctx, in)
	if got := said(err); got != "ValidationError: The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining" {
		t.Error(got)
	}
	in.DurationSeconds = nil
	if out, err := assumed.AssumeRole(ctx, in); err != nil || out.Credentials.Expiration.Sub(d.now) < time.Hour-time.Second {
		t.Errorf("by the keys of a role: %+v %v", out, err)
	}
	const one = "ValidationError: 1 validation error detected: Value "
	for want, in := range map[string]client.AssumeRoleInput{
		"ValidationError: arn:aws:iam::111122223333:user/deploy is invalid":                                                                             {RoleArn: aws.String("arn:aws:iam::111122223333:user/deploy")},
		"ValidationError: arn:aws:iam::111122223333:role/ is invalid":                                                                                   {RoleArn: aws.String("arn:aws:iam::111122223333:role/")},
		one + "'deploy' at 'roleArn' failed to satisfy constraint: Member must have length greater than or equal to 20":                                 {RoleArn: aws.String("deploy")},
		one + "'a b' at 'roleSessionName' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\w+=,.@-]*":                   {RoleSessionName: aws.String("a b")},
		one + "'899' at 'durationSeconds' failed to satisfy constraint: Member must have value greater than or equal to 900":                            {DurationSeconds: aws.Int32(899)},
		one + "'43201' at 'durationSeconds' failed to satisfy constraint: Member must have value less than or equal to 43200":                           {DurationSeconds: aws.Int32(43201)},
		"AccessDenied: User: arn:aws:iam::111122223333:root is not authorized to perform: sts:AssumeRole on resource: arn:aws:iam::444455556666:role/r": {RoleArn: aws.String("arn:aws:iam::444455556666:role/r")},
	} {
		if in.RoleArn == nil {
			in.RoleArn = aws.String(role)
		}
		if in.RoleSessionName == nil {
			in.RoleSessionName = aws.String("me")
		}
		_, err := c.AssumeRole(ctx, &in)
		if got := said(err); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	d.now = d.now.Add(15 * time.Minute)
	_, err = assumed.GetCallerIdentity(ctx, nil)
	if got := said(err); got != "ExpiredToken: The security token included in the request is expired" {
		t.Error(got)
	}
	_, err = d.client("ASIAXXXXXXXXXXXXXXXX", "s", "t").GetCallerIdentity(ctx, nil)
	if got := said(err); got != "InvalidClientTokenId: The security token included in the request is invalid." {
		t.Error(got)
	}
}

// TestAssumeRoleAnywhere checks that on a development server a role may belong to any account, which its keys then use.
func TestAssumeRoleAnywhere(t *testing.T) {
	d, ctx := newDoor(t, true, true), t.Context()
	out, err := d.client("any", "any", "").AssumeRole(ctx, &client.AssumeRoleInput{
		RoleArn: aws.String("arn:aws:iam::444455556666:role/cdk-hnb659fds-deploy-role-444455556666-eu-west-1"), RoleSessionName: aws.String("aws-cdk-me"),
	})
	if err != nil {
		t.Fatal(err)
	}
	who, err := d.client(*out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken).GetCallerIdentity(ctx, nil)
	if err != nil || *who.Account != "444455556666" {
		t.Errorf("%+v %v", who, err)
	}
}

func TestNoRoles(t *testing.T) {
	d := newDoor(t, true, false)
	_, err := d.client("any", "any", "").AssumeRole(t.Context(), &client.AssumeRoleInput{
		RoleArn: aws.String("arn:aws:iam::444455556666:role/r"), RoleSessionName: aws.String("me"),
	})
	if got := said(err); got != "InvalidAction: Could not find operation AssumeRole for version 2011-06-15" {
		t.Error(got)
	}
}
