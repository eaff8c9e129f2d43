package recorded_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/cloud/recorded"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

const (
	region  = "eu-west-1"
	account = "123456789012"
)

type m = map[string]any

// world is an API behind a server, with some recorded resources.
type world struct {
	t      *testing.T
	things *registry.Catalog
	client *awscall.Client
	log    strings.Builder
	keep   func(context.Context, *store.Request, wire.PhysicalID) error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, things: registry.New(rows)}
	now := func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) }
	w.keep = recorded.Keep(w.things.Records, now)
	api, err := recorded.New(recorded.Config{
		Catalog: w.things, Now: now, Log: slog.New(slog.NewTextHandler(&w.log, nil)), Zones: func(region string) []string { return []string{region + "a", region + "b"} },
		Caller: func(context.Context) (api.Caller, bool) {
			return api.Caller{Account: account, Region: region}, true
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		service := strings.Split(r.Header.Get("Authorization"), "/")[3] // in the credential scope
		api.Handler(service).ServeHTTP(out, r)
	}))
	t.Cleanup(server.Close)
	w.client, err = awscall.New(awscall.Config{
		Region: region, Endpoint: server.URL, MaxAttempts: 1, Strict: true, Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// serve creates, changes or deletes a recorded resource of a stack.
func (w *world) serve(kind wire.RequestType, resourceType, id, properties string) {
	w.t.Helper()
	declared, err := value.Parse([]byte(properties))
	if err != nil {
		w.t.Fatal(err)
	}
	r := &store.Request{Type: kind, Logical: "R", Body: &store.RequestBody{
		StackID: "arn:aws:cloudformation:" + region + ":" + account + ":stack/s/1", ResourceType: resourceType, Properties: declared,
	}}
	if err := w.keep(w.t.Context(), r, wire.PhysicalID(id)); err != nil {
		w.t.Fatal(err)
	}
}

// does makes a call, which must succeed with the values at paths such as Items.0.Name.
func (w *world) does(service, action string, in m, want ...string) map[string]any {
	w.t.Helper()
	out, err := w.client.Call(w.t.Context(), service, action, in)
	if err != nil {
		w.t.Fatalf("%s %s: %v\n%s", service, action, err, w.log.String())
	}
	flat := map[string]any{}
	flatten("", out, flat)
	for _, pair := range want {
		path, text, _ := strings.Cut(pair, "=")
		if got, ok := flat[path]; text == "" && ok || text != "" && fmt.Sprint(got) != text {
			w.t.Errorf("%s %s: %s is %v, want %q in %v", service, action, path, got, text, out)
		}
	}
	return flat
}

func flatten(path string, v any, into map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			flatten(strings.TrimPrefix(path+"."+name, "."), item, into)
		}
	case []any:
		for i, item := range v {
			flatten(fmt.Sprintf("%s.%d", path, i), item, into)
		}
	default:
		into[path] = v
	}
}

// fails makes a call, which must be refused with a code.
func (w *world) fails(code, service, action string, in m) (message string) {
	w.t.Helper()
	_, err := w.client.Call(w.t.Context(), service, action, in)
	refused, ok := errors.AsType[*awscall.Error](err)
	if !ok || refused.Code != code {
		w.t.Fatalf("%s %s: %v, want %s\n%s", service, action, err, code, w.log.String())
	}
	return refused.Message
}

func TestSecurityGroups(t *testing.T) {
	w := newWorld(t)
	w.serve(wire.Create, "AWS::EC2::VPC", "vpc", `{"CidrBlock": "10.0.0.0/16"}`)
	w.serve(wire.Create, "AWS::EC2::SecurityGroup", "own", `{"VpcId": "vpc", "GroupDescription": "d", "SecurityGroupIngress":
		[{"IpProtocol": "tcp", "FromPort": "80", "ToPort": 80, "CidrIp": "10.0.0.0/8"}]}`)
	const group = "vpc.DefaultSecurityGroup" // the value of Fn::GetAtt
	every := []any{m{"IpProtocol": "-1", "IpRanges": []any{m{"CidrIp": "0.0.0.0/0"}}}}
	itself := []any{m{"IpProtocol": "-1", "UserIdGroupPairs": []any{m{"GroupId": group, "UserId": account}}}}
	w.does("EC2", "describeSecurityGroups", m{"Filters": []any{m{"Name": "vpc-id", "Values": []any{"vpc"}}, m{"Name": "group-name", "Values": []any{"def*"}}}},
		"SecurityGroups.0.GroupId="+group, "SecurityGroups.0.IpPermissions.0.UserIdGroupPairs.0.GroupId="+group,
		"SecurityGroups.0.IpPermissionsEgress.0.IpRanges.0.CidrIp=0.0.0.0/0", "SecurityGroups.1.GroupId=")
	w.does("EC2", "revokeSecurityGroupEgress", m{"GroupId": group, "IpPermissions": every})
	w.does("EC2", "revokeSecurityGroupIngress", m{"GroupId": group, "IpPermissions": itself})
	w.does("EC2", "describeSecurityGroups", m{"GroupIds": []any{group}}, "SecurityGroups.0.GroupName=default",
		"SecurityGroups.0.IpPermissions.0.IpProtocol=", "SecurityGroups.0.IpPermissionsEgress.0.IpProtocol=")
	w.fails("InvalidPermission.NotFound", "EC2", "revokeSecurityGroupEgress", m{"GroupId": group, "IpPermissions": every})
	w.serve(wire.Update, "AWS::EC2::VPC", "vpc", `{"CidrBlock": "10.0.0.0/8"}`) // leaves the rules unchanged
	w.fails("InvalidPermission.NotFound", "EC2", "revokeSecurityGroupIngress", m{"GroupId": group, "IpPermissions": itself})
	w.does("EC2", "authorizeSecurityGroupIngress", m{"GroupId": group, "IpPermissions": itself})
	w.fails("InvalidPermission.Duplicate", "EC2", "authorizeSecurityGroupIngress", m{"GroupId": group, "IpPermissions": itself})
	w.does("EC2", "describeSecurityGroups", m{"GroupIds": []any{"own.GroupId"}}, "SecurityGroups.0.IpPermissions.0.FromPort=80",
		"SecurityGroups.0.IpPermissions.0.IpRanges.0.CidrIp=10.0.0.0/8")
	page := w.does("EC2", "describeSecurityGroups", m{"MaxResults": 1}, "SecurityGroups.0.GroupId=own.GroupId", "SecurityGroups.1.GroupId=")
	w.does("EC2", "describeSecurityGroups", m{"MaxResults": 1, "NextToken": page["NextToken"]}, "SecurityGroups.0.GroupId="+group, "NextToken=")
	w.serve(wire.Create, "AWS::GlobalAccelerator::EndpointGroup", "endpoints", `{}`)
	w.does("EC2", "describeSecurityGroups", m{"Filters": []any{m{"Name": "group-name", "Values": []any{"GlobalAccelerator"}}}},
		"SecurityGroups.0.GroupId=vpc.GlobalAccelerator")
	w.serve(wire.Delete, "AWS::EC2::VPC", "vpc", `{}`)
	w.fails("InvalidGroup.NotFound", "EC2", "revokeSecurityGroupEgress", m{"GroupId": group, "IpPermissions": every})
	w.does("EC2", "describeAvailabilityZones", m{}, "AvailabilityZones.1.ZoneName=eu-west-1b", "AvailabilityZones.2.ZoneName=")
}

func TestEndpointService(t *testing.T) {
	w := newWorld(t)
	w.serve(wire.Create, "AWS::EC2::VPCEndpointService", "vpce", `{}`)
	w.does("EC2", "modifyVpcEndpointServiceConfiguration", m{"ServiceId": "vpce", "PrivateDnsName": "a.example.com"})
	const config = "ServiceConfigurations.0.PrivateDnsNameConfiguration."
	first := w.does("EC2", "describeVpcEndpointServiceConfigurations", m{"ServiceIds": []any{"vpce"}}, config+"State=pendingVerification", config+"Type=TXT")
	w.does("EC2", "startVpcEndpointServicePrivateDnsVerification", m{"ServiceId": "vpce"}, "ReturnValue=true")
	w.does("EC2", "describeVpcEndpointServiceConfigurations", m{}, config+"State=verified", config+"Name="+fmt.Sprint(first[config+"Name"]))
	w.does("EC2", "modifyVpcEndpointServiceConfiguration", m{"ServiceId": "vpce", "RemovePrivateDnsName": true})
	w.does("EC2", "describeVpcEndpointServiceConfigurations", m{}, "ServiceConfigurations.0.ServiceId=vpce", config+"Name=")
	w.fails("InvalidVpcEndpointServiceId.NotFound", "EC2", "describeVpcEndpointServiceConfigurations", m{"ServiceIds": []any{"no"}})
}

func TestOIDC(t *testing.T) {
	w := newWorld(t)
	const arn = "arn:aws:iam::123456789012:oidc-provider/issuer.example.com/id"
	print := strings.Repeat("a", 40)
	in := m{"Url": "https://issuer.example.com/id", "ClientIDList": []any{"a"}, "ThumbprintList": []any{print}}
	w.does("IAM", "createOpenIDConnectProvider", in, "OpenIDConnectProviderArn="+arn)
	w.fails("EntityAlreadyExistsException", "IAM", "createOpenIDConnectProvider", in)
	w.does("IAM", "addClientIDToOpenIDConnectProvider", m{"OpenIDConnectProviderArn": arn, "ClientID": "b"})
	w.does("IAM", "removeClientIDFromOpenIDConnectProvider", m{"OpenIDConnectProviderArn": arn, "ClientID": "a"})
	w.does("IAM", "updateOpenIDConnectProviderThumbprint", m{"OpenIDConnectProviderArn": arn, "ThumbprintList": []any{strings.Repeat("b", 40)}})
	w.does("IAM", "getOpenIDConnectProvider", m{"OpenIDConnectProviderArn": arn}, "Url=issuer.example.com/id", "ClientIDList.0=b", "ClientIDList.1=",
		"ThumbprintList.0="+strings.Repeat("b", 40))
	w.serve(wire.Create, "AWS::IAM::OIDCProvider", "declared", `{"Url": "https://other.example.com"}`)
	w.does("IAM", "listOpenIDConnectProviders", m{}, "OpenIDConnectProviderList.0.Arn="+arn,
		"OpenIDConnectProviderList.1.Arn=arn:aws:iam::123456789012:oidc-provider/other.example.com")
	w.does("IAM", "deleteOpenIDConnectProvider", m{"OpenIDConnectProviderArn": arn})
	w.does("IAM", "deleteOpenIDConnectProvider", m{"OpenIDConnectProviderArn": arn})
	w.fails("NoSuchEntityException", "IAM", "getOpenIDConnectProvider", m{"OpenIDConnectProviderArn": arn})
}

func TestRecordSets(t *testing.T) {
	w := newWorld(t)
	w.serve(wire.Create, "AWS::Route53::HostedZone", "Z1", `{"Name": "example.com"}`)
	w.serve(wire.Create, "AWS::Route53::HostedZone", "Z2", `{"Name": "a.example.com.", "VPCs": [{"VPCId": "v", "VPCRegion": "eu-west-1"}]}`)
	w.serve(wire.Create, "AWS::Route53::RecordSet", "www", `{"HostedZoneId": "Z1", "Name": "WWW.example.com", "Type": "A", "TTL": "300", "ResourceRecords": ["192.0.2.1"]}`)
	w.does("route53", "listHostedZonesByName", m{"DNSName": "a.example.com", "MaxItems": 1}, "HostedZones.0.Id=/hostedzone/Z2", "HostedZones.0.Config.PrivateZone=true",
		"HostedZones.1.Id=")
	w.does("route53", "listHostedZones", m{"MaxItems": 1}, "HostedZones.0.Id=/hostedzone/Z1", "IsTruncated=true", "NextMarker=Z2")
	w.does("route53", "getHostedZone", m{"Id": "Z1"}, "HostedZone.ResourceRecordSetCount=3")
	w.does("route53", "listResourceRecordSets", m{"HostedZoneId": "Z1", "StartRecordName": "www.example.com.", "StartRecordType": "A"},
		"ResourceRecordSets.0.Name=www.example.com.", "ResourceRecordSets.0.ResourceRecords.0.Value=192.0.2.1", "ResourceRecordSets.0.TTL=300", "ResourceRecordSets.1.Name=")
	change := func(action, name, v string) m {
		return m{"HostedZoneId": "Z1", "ChangeBatch": m{"Changes": []any{m{"Action": action, "ResourceRecordSet": m{
			"Name": name, "Type": "A", "TTL": 300, "ResourceRecords": []any{m{"Value": v}},
		}}}}}
	}
	made := w.does("route53", "changeResourceRecordSets", change("CREATE", "b.example.com", "192.0.2.2"), "ChangeInfo.Status=INSYNC")
	w.does("route53", "getChange", m{"Id": made["ChangeInfo.Id"]}, "ChangeInfo.Status=INSYNC")
	w.fails("InvalidChangeBatch", "route53", "changeResourceRecordSets", change("CREATE", "www.example.com", "192.0.2.3"))
	w.fails("InvalidChangeBatch", "route53", "changeResourceRecordSets", change("DELETE", "www.example.com", "192.0.2.3"))
	w.fails("InvalidChangeBatch", "route53", "changeResourceRecordSets", change("CREATE", "example.org", "192.0.2.3"))
	w.does("route53", "changeResourceRecordSets", change("DELETE", "www.example.com", "192.0.2.1"))
	w.does("route53", "changeResourceRecordSets", change("UPSERT", "b.example.com", "192.0.2.4"))
	w.does("route53", "listResourceRecordSets", m{"HostedZoneId": "Z1"}, "ResourceRecordSets.0.Type=NS", "ResourceRecordSets.1.Type=SOA",
		"ResourceRecordSets.2.ResourceRecords.0.Value=192.0.2.4", "ResourceRecordSets.3.Name=")
	w.serve(wire.Update, "AWS::Route53::RecordSet", "www", `{"HostedZoneId": "Z1", "Name": "www.example.com", "Type": "A", "TTL": "300", "ResourceRecords": ["192.0.2.9"]}`)
	w.does("route53", "listResourceRecordSets", m{"HostedZoneId": "Z1"}, "ResourceRecordSets.3.ResourceRecords.0.Value=192.0.2.9")
	w.fails("NoSuchHostedZone", "route53", "listResourceRecordSets", m{"HostedZoneId": "Z3"})
	w.fails("NoSuchChange", "route53", "getChange", m{"Id": "C1"})
}

func TestCertificates(t *testing.T) {
	w := newWorld(t)
	in := m{"DomainName": "example.com", "SubjectAlternativeNames": []any{"*.example.com"}, "ValidationMethod": "DNS", "IdempotencyToken": "t"}
	made := w.does("ACM", "requestCertificate", in)["CertificateArn"]
	w.does("ACM", "requestCertificate", in, "CertificateArn="+fmt.Sprint(made))
	of := m{"CertificateArn": made}
	const option = "Certificate.DomainValidationOptions."
	out := w.does("ACM", "describeCertificate", of, "Certificate.Status=ISSUED", option+"1.ValidationStatus=SUCCESS", option+"0.ResourceRecord.Type=CNAME")
	if out[option+"0.ResourceRecord.Name"] != out[option+"1.ResourceRecord.Name"] {
		t.Errorf("a domain and its wildcard have different records: %v", out)
	}
	w.does("ACM", "addTagsToCertificate", m{"CertificateArn": made, "Tags": []any{m{"Key": "k", "Value": "v"}}})
	w.does("ACM", "listTagsForCertificate", of, "Tags.0.Value=v")
	w.does("ACM", "listCertificates", m{}, "CertificateSummaryList.0.DomainName=example.com")
	w.does("ACM", "deleteCertificate", of)
	w.fails("ResourceNotFoundException", "ACM", "describeCertificate", of)
	w.fails("ResourceNotFoundException", "ACM", "deleteCertificate", of)
}

func TestRepositories(t *testing.T) {
	w := newWorld(t)
	if _, err := w.things.Records.Put(t.Context(), registry.Item[registry.Record]{
		Scope: registry.Scope{Account: account, Region: region}, Name: "AWS::ECR::Repository/repo",
		Of: registry.Record{Properties: []byte(`{"Tags": [{"Key": "aws-cdk:auto-delete-images", "Value": "true"}]}`)},
	}); err != nil {
		t.Fatal(err)
	}
	arn := fmt.Sprint(w.does("ECR", "describeRepositories", m{"repositoryNames": []any{"repo"}}, "repositories.0.repositoryName=repo")["repositories.0.repositoryArn"])
	w.does("ECR", "listTagsForResource", m{"resourceArn": arn}, "tags.0.Key=aws-cdk:auto-delete-images")
	w.does("ECR", "listImages", m{"repositoryName": "repo"}, "imageIds.0.imageTag=")
	w.does("ECR", "describeImages", m{"repositoryName": "repo"})
	w.does("ECR", "batchDeleteImage", m{"repositoryName": "repo", "imageIds": []any{m{"imageTag": "x"}}}, "failures.0.failureCode=ImageNotFound")
	w.fails("RepositoryNotFoundException", "ECR", "listImages", m{"repositoryName": "no"})
}

func TestReplicas(t *testing.T) {
	w := newWorld(t)
	w.serve(wire.Create, "AWS::DynamoDB::Table", "table", `{"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}`)
	update := func(action string) m {
		return m{"TableName": "table", "ReplicaUpdates": []any{m{action: m{"RegionName": "eu-west-2"}}}}
	}
	w.does("DynamoDB", "updateTable", update("Create"), "TableDescription.Replicas.0.RegionName=eu-west-2")
	w.fails("ValidationException", "DynamoDB", "updateTable", update("Create"))
	w.does("DynamoDB", "describeTable", m{"TableName": "table"}, "Table.TableStatus=ACTIVE", "Table.Replicas.0.ReplicaStatus=ACTIVE", "Table.KeySchema.0.KeyType=HASH")
	w.does("DynamoDB", "updateTable", update("Delete"), "TableDescription.Replicas.0.RegionName=")
	w.fails("ValidationException", "DynamoDB", "updateTable", update("Delete"))
	w.fails("ValidationException", "DynamoDB", "updateTable", m{"TableName": "table", "BillingMode": "PROVISIONED"})
	w.fails("ResourceNotFoundException", "DynamoDB", "describeTable", m{"TableName": "no"})
}

// TestClientSecret checks that the secret of a client stays the same and is not logged.
func TestClientSecret(t *testing.T) {
	w := newWorld(t)
	w.serve(wire.Create, "AWS::Cognito::UserPoolClient", "client", `{"UserPoolId": "pool", "GenerateSecret": "true"}`)
	w.serve(wire.Create, "AWS::Cognito::UserPoolClient", "public", `{"UserPoolId": "pool"}`)
	w.serve(wire.Create, "AWS::Cognito::UserPoolDomain", "domain", `{"UserPoolId": "pool", "Domain": "auth"}`)
	in := m{"UserPoolId": "pool", "ClientId": "client"}
	secret := fmt.Sprint(w.does("cognito-idp", "describeUserPoolClient", in)["UserPoolClient.ClientSecret"])
	if len(secret) != 51 {
		t.Errorf("the secret has %d characters, want 51", len(secret))
	}
	w.does("cognito-idp", "describeUserPoolClient", in, "UserPoolClient.ClientSecret="+secret)
	w.does("cognito-idp", "describeUserPoolClient", m{"UserPoolId": "pool", "ClientId": "public"}, "UserPoolClient.ClientSecret=")
	w.fails("ResourceNotFoundException", "cognito-idp", "describeUserPoolClient", m{"UserPoolId": "other", "ClientId": "client"})
	for _, name := range []string{"auth", "domain"} {
		got := w.does("cognito-idp", "describeUserPoolDomain", m{"Domain": name}, "DomainDescription.Status=ACTIVE")
		if !strings.HasSuffix(fmt.Sprint(got["DomainDescription.CloudFrontDistribution"]), ".cloudfront.net") {
			t.Errorf("the domain is %v", got)
		}
	}
	w.does("cognito-idp", "describeUserPoolDomain", m{"Domain": "no"}, "DomainDescription.Status=")
	if strings.Contains(w.log.String(), secret) {
		t.Error("the secret is in the log")
	}
}

func TestInvalidations(t *testing.T) {
	w := newWorld(t)
	w.serve(wire.Create, "AWS::CloudFront::Distribution", "dist", `{}`)
	in := m{"DistributionId": "dist", "InvalidationBatch": m{"CallerReference": "r", "Paths": m{"Quantity": 1, "Items": []any{"/*"}}}}
	id := fmt.Sprint(w.does("CloudFront", "createInvalidation", in, "Invalidation.InvalidationBatch.Paths.Items.0=/*")["Invalidation.Id"])
	w.does("CloudFront", "createInvalidation", in, "Invalidation.Id="+id)
	w.does("CloudFront", "getInvalidation", m{"DistributionId": "dist", "Id": id}, "Invalidation.Status=Completed")
	w.fails("NoSuchInvalidation", "CloudFront", "getInvalidation", m{"DistributionId": "dist", "Id": "no"})
	w.fails("NoSuchDistribution", "CloudFront", "getInvalidation", m{"DistributionId": "no", "Id": id})
}

func TestOtherServices(t *testing.T) {
	w := newWorld(t)
	for kind, id := range map[string]string{
		"AWS::OpenSearchService::Domain": "open", "AWS::Elasticsearch::Domain": "elastic", "AWS::Synthetics::Canary": "canary", "AWS::Glue::Table": "glue",
	} {
		w.serve(wire.Create, kind, id, `{}`)
	}
	w.does("OpenSearch", "updateDomainConfig", m{"DomainName": "open", "AccessPolicies": "{}"}, "DomainConfig.AccessPolicies.Options={}")
	w.does("es", "updateElasticsearchDomainConfig", m{"DomainName": "elastic", "AccessPolicies": "{}"}, "DomainConfig.AccessPolicies.Options={}")
	w.fails("ResourceNotFoundException", "OpenSearch", "updateDomainConfig", m{"DomainName": "elastic", "AccessPolicies": "{}"})
	config := m{"deploymentConfigName": "slow", "computePlatform": "Lambda"}
	w.does("CodeDeploy", "createDeploymentConfig", config)
	w.fails("DeploymentConfigAlreadyExistsException", "CodeDeploy", "createDeploymentConfig", config)
	w.does("CodeDeploy", "deleteDeploymentConfig", m{"deploymentConfigName": "slow"})
	w.does("CodeDeploy", "createDeploymentConfig", config)
	w.does("synthetics", "getCanary", m{"Name": "canary"}, "Canary.Name=canary", "Canary.EngineArn=")
	w.fails("ResourceNotFoundException", "synthetics", "getCanary", m{"Name": "no"})
	of := m{"DatabaseName": "d", "TableName": "glue"}
	w.does("Glue", "createPartitionIndex", m{"DatabaseName": "d", "TableName": "glue", "PartitionIndex": m{"IndexName": "i", "Keys": []any{"k"}}})
	w.does("Glue", "getPartitionIndexes", of, "PartitionIndexDescriptorList.0.IndexStatus=ACTIVE", "PartitionIndexDescriptorList.0.Keys.0.Name=k")
	w.does("Glue", "deletePartitionIndex", m{"DatabaseName": "d", "TableName": "glue", "IndexName": "i"})
	w.fails("EntityNotFoundException", "Glue", "deletePartitionIndex", m{"DatabaseName": "d", "TableName": "glue", "IndexName": "i"})
	w.serve(wire.Create, "AWS::EMRContainers::VirtualCluster", "vc", `{"Name": "v", "ContainerProvider": {"Id": "k", "Info": {"EksInfo": {"Namespace": "n"}}}}`)
	w.does("emr-containers", "describeVirtualCluster", m{"id": "vc"}, "virtualCluster.containerProvider.info.eksInfo.namespace=n")
	w.does("emr-containers", "describeVirtualCluster", m{"id": "vc.Id"}, "virtualCluster.id=vc") // as Fn::GetAtt returns it
}

// TestUnserved checks that other operations are refused with the variable that sets another endpoint.
func TestUnserved(t *testing.T) {
	w := newWorld(t)
	for service, call := range map[string][2]string{
		"EC2": {"describeInstances", "AWS_ENDPOINT_URL_EC2"}, "IAM": {"listUsers", "AWS_ENDPOINT_URL_IAM"},
		"route53": {"listHealthChecks", "AWS_ENDPOINT_URL_ROUTE_53"}, "DynamoDB": {"listTables", "AWS_ENDPOINT_URL_DYNAMODB"},
		"OpenSearch": {"listDomainNames", "AWS_ENDPOINT_URL_OPENSEARCH"}, "CloudFront": {"listDistributions", "AWS_ENDPOINT_URL_CLOUDFRONT"},
		"cognito-idp": {"listUserPools", "AWS_ENDPOINT_URL_COGNITO_IDENTITY_PROVIDER"},
		"es":          {"listDomainNames", "AWS_ENDPOINT_URL_ELASTICSEARCH_SERVICE"},
	} {
		in := m{}
		if service == "cognito-idp" {
			in["MaxResults"] = 1
		}
		message := w.fails("InvalidAction", service, call[0], in)
		if !strings.Contains(message, call[1]) || !strings.Contains(strings.ToLower(message), strings.ToLower(call[0])) {
			t.Errorf("%s: %s", service, message)
		}
	}
	// A service that shares its name in signatures with a recorded one.
	if message := w.fails("InvalidAction", "dynamodbstreams", "listStreams", m{}); !strings.Contains(message, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS ") {
		t.Errorf("DynamoDB Streams: %s", message)
	}
	if !slices.IsSorted(recorded.Services()) {
		t.Error("the services are not sorted")
	}
}
