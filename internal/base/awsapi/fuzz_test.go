package awsapi_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/base/awsapi"
)

// FuzzInput reads requests in every protocol. An invalid request is refused with an [awsapi.Error].
func FuzzInput(f *testing.F) {
	models := &awsapi.Models{}
	requests := []struct{ service, method, path, target string }{
		{"ec2", "POST", "/", ""},
		{"iam", "POST", "/", ""},
		{"dynamodb", "POST", "/", "DynamoDB_20120810.UpdateTable"},
		{"route53", "POST", "/2013-04-01/hostedzone/Z1/rrset/", ""},
		{"opensearch", "POST", "/2021-01-01/opensearch/domain/d/config", ""},
	}
	for i, body := range []string{
		"Action=RevokeSecurityGroupEgress&GroupId=g&IpPermissions.1.IpProtocol=-1&IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0",
		"Action=CreateOpenIDConnectProvider&Url=https://a&ClientIDList.member.1=b&ThumbprintList.member.1=c",
		`{"TableName": "t", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-2"}}]}`,
		"<ChangeResourceRecordSetsRequest><ChangeBatch><Changes><Change><Action>UPSERT</Action></Change></Changes></ChangeBatch></ChangeResourceRecordSetsRequest>",
		`{"AccessPolicies": "{}"}`,
	} {
		f.Add(uint8(i), body)
	}
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		of := requests[int(which)%len(requests)]
		service, err := models.Service(of.service)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(of.method, of.path, strings.NewReader(body))
		r.Header.Set("X-Amz-Target", of.target)
		request, err := service.Read(r)
		if err == nil && request.Operation != "" {
			_, err = service.Input(request)
		}
		if err == nil {
			return
		}
		if _, refused := errors.AsType[*awsapi.Error](err); !refused {
			t.Errorf("%q: %v is not an error for the client", body, err)
		}
	})
}
