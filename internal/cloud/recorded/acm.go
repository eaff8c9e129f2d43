package recorded

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/base/awsapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// acmOperations are the operations of Certificate Manager. Source: ACM API Reference, version 2015-12-08.
var acmOperations = map[string]operation{
	"RequestCertificate":     requestCertificate,
	"DescribeCertificate":    describeCertificate,
	"DeleteCertificate":      deleteCertificate,
	"ListCertificates":       listCertificates,
	"AddTagsToCertificate":   tagCertificate,
	"ListTagsForCertificate": listCertificateTags,
}

const certificateType = "AWS::CertificateManager::Certificate"

// maxNames is the maximum number of names of a certificate. Source: ACM quotas, the maximum that can be requested.
const maxNames = 100

// certificate is the recorded certificate, in the format of its resource type.
type certificate struct {
	Domain     string   `json:"DomainName"`
	Names      []string `json:"SubjectAlternativeNames,omitempty"`
	Validation string   `json:"ValidationMethod,omitempty"`
	Key        string   `json:"KeyAlgorithm,omitempty"`
	Tags       []tag    `json:"Tags,omitempty"`
}

// tag is a tag of a resource.
type tag struct {
	Key   string
	Value string `json:",omitempty"`
}

func requestCertificate(c *call) (object, error) {
	cert := certificate{
		Domain: text(c.in, "DomainName"), Names: texts(c.in, "SubjectAlternativeNames"), Validation: text(c.in, "ValidationMethod"), Key: text(c.in, "KeyAlgorithm"),
	}
	if !slices.Contains(cert.Names, cert.Domain) {
		cert.Names = append([]string{cert.Domain}, cert.Names...)
	}
	if cert.Domain == "" || len(cert.Names) > maxNames {
		return nil, awsapi.Refuse("ValidationException", "A certificate needs a domain name and has at most %d names.", maxNames)
	}
	for _, name := range cert.Names {
		if len(name) > 253 || !strings.Contains(name, ".") || strings.ContainsAny(name, " /") {
			return nil, awsapi.Refuse("InvalidDomainValidationOptionsException", "%.253s is not a domain name.", name)
		}
	}
	cert.Tags = tagsOf(c.in)
	// A repeated call with the same token returns the same certificate.
	id := uuid.New()
	if token := text(c.in, "IdempotencyToken"); token != "" {
		asked, err := json.Marshal(cert)
		if err != nil {
			return nil, err
		}
		id = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s %s %s %s", c.place.Account, c.place.Region, token, asked))
	}
	arn := c.arn("acm", "certificate/"+id.String())
	err := c.create(certificateType, arn, cert)
	if errors.Is(err, registry.ErrExists) {
		err = nil
	}
	return object{"CertificateArn": arn}, err
}

func tagsOf(in object) []tag {
	var tags []tag
	for _, t := range items(in, "Tags") {
		tags = append(tags, tag{text(t, "Key"), text(t, "Value")})
	}
	return tags
}

// certificate returns the certificate that a call names.
func (c *call) certificate() (record, certificate, error) {
	arn := text(c.in, "CertificateArn")
	var cert certificate
	r, err := c.get(certificateType, arn)
	if errors.Is(err, registry.ErrNotFound) {
		return r, cert, noCertificate(arn)
	}
	if err == nil {
		err = json.Unmarshal(r.Of.Properties, &cert)
	}
	return r, cert, err
}

func noCertificate(arn string) error {
	return awsapi.Refuse("ResourceNotFoundException", "Could not find certificate %.300s.", arn)
}

// validation returns the DNS record that proves a domain. As on AWS, a domain and its wildcard share the record.
func (c *call) validation(name string) object {
	name = strings.TrimPrefix(name, "*.")
	sum := sha256.Sum256([]byte(c.place.Account + " " + name))
	return object{
		"Name": fmt.Sprintf("_%x.%s.", sum[:16], name), "Type": "CNAME", "Value": fmt.Sprintf("_%x.acm-validations.aws.", sum[16:]),
	}
}

// describeCertificate describes a certificate. By our choice it is issued at once, and no DNS server is queried.
func describeCertificate(c *call) (object, error) {
	r, cert, err := c.certificate()
	if err != nil {
		return nil, err
	}
	var options []object
	for _, name := range cert.Names {
		o := object{"DomainName": name, "ValidationDomain": name, "ValidationStatus": "SUCCESS", "ValidationMethod": "EMAIL"}
		if cert.Validation != "EMAIL" {
			o["ValidationMethod"], o["ResourceRecord"] = "DNS", c.validation(name)
		}
		options = append(options, o)
	}
	algorithm := cert.Key
	if algorithm == "" {
		algorithm = "RSA_2048"
	}
	return object{"Certificate": object{
		"CertificateArn": text(c.in, "CertificateArn"), "DomainName": cert.Domain, "SubjectAlternativeNames": anys(cert.Names),
		"DomainValidationOptions": anys(options), "Status": "ISSUED", "Type": "AMAZON_ISSUED", "InUseBy": []any{}, "KeyAlgorithm": algorithm,
		"CreatedAt": r.Of.Made, "IssuedAt": r.Of.Made, "NotBefore": r.Of.Made, "NotAfter": r.Of.Made.AddDate(0, 13, 0),
		"RenewalEligibility": "INELIGIBLE",
	}}, nil
}

func deleteCertificate(c *call) (object, error) {
	arn := text(c.in, "CertificateArn")
	err := c.drop(certificateType, arn)
	if errors.Is(err, registry.ErrNotFound) {
		err = noCertificate(arn)
	}
	return nil, err
}

func listCertificates(c *call) (object, error) {
	list, err := c.all(certificateType)
	if err != nil {
		return nil, err
	}
	if statuses := texts(c.in, "CertificateStatuses"); len(statuses) > 0 && !slices.Contains(statuses, "ISSUED") {
		list = nil
	}
	limit, _ := integer(c.in, "MaxItems")
	list, next, err := page(list, func(r record) string { return r.id }, text(c.in, "NextToken"), limit, 1000)
	if err != nil {
		return nil, awsapi.Refuse("ValidationException", "The next token is not valid.")
	}
	out := []any{}
	for _, r := range list {
		out = append(out, object{"CertificateArn": r.id, "DomainName": text(r.properties, "DomainName"), "Status": "ISSUED", "Type": "AMAZON_ISSUED"})
	}
	answer := object{"CertificateSummaryList": out}
	if next != "" {
		answer["NextToken"] = next
	}
	return answer, nil
}

// maxTags is the maximum number of tags of a resource. Source: AWS General Reference, Tagging AWS resources.
const maxTags = 50

func tagCertificate(c *call) (object, error) {
	arn := text(c.in, "CertificateArn")
	_, err := c.change(certificateType, arn, func(r *record) error {
		var cert certificate
		if err := json.Unmarshal(r.Of.Properties, &cert); err != nil {
			return err
		}
		for _, t := range tagsOf(c.in) {
			cert.Tags = append(slices.DeleteFunc(cert.Tags, func(o tag) bool { return o.Key == t.Key }), t)
		}
		if len(cert.Tags) > maxTags {
			return awsapi.Refuse("TooManyTagsException", "A certificate has at most %d tags.", maxTags)
		}
		var err error
		r.Of.Properties, err = json.Marshal(cert)
		return err
	})
	if errors.Is(err, registry.ErrNotFound) {
		err = noCertificate(arn)
	}
	return nil, err
}

func listCertificateTags(c *call) (object, error) {
	r, _, err := c.certificate()
	return object{"Tags": r.tagList()}, err
}
