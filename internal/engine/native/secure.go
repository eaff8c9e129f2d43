package native

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// secureProperties are the paths of the properties in which CloudFormation resolves ssm-secure references.
// Source: CloudFormation User Guide, "Get a secure string value from Systems Manager Parameter Store".
var secureProperties = map[string]bool{
	"AWS::DirectoryService::MicrosoftAD/Properties/Password":                                    true,
	"AWS::DirectoryService::SimpleAD/Properties/Password":                                       true,
	"AWS::ElastiCache::ReplicationGroup/Properties/AuthToken":                                   true,
	"AWS::IAM::User/Properties/LoginProfile/Password":                                           true,
	"AWS::KinesisFirehose::DeliveryStream/Properties/RedshiftDestinationConfiguration/Password": true,
	"AWS::OpsWorks::App/Properties/AppSource/Password":                                          true,
	"AWS::OpsWorks::Stack/Properties/CustomCookbooksSource/Password":                            true,
	"AWS::OpsWorks::Stack/Properties/RdsDbInstances":                                            true,
	"AWS::RDS::DBCluster/Properties/MasterUserPassword":                                         true,
	"AWS::RDS::DBInstance/Properties/MasterUserPassword":                                        true,
	"AWS::Redshift::Cluster/Properties/MasterUserPassword":                                      true,
}

// SecureReferences returns the paths of ssm-secure references in properties where CloudFormation does not resolve
// them. A path ends at the first list or function.
func SecureReferences(resourceType string, properties value.Value) []string {
	if dialectOf(resourceType) == wire.ROS {
		return nil
	}
	var paths []string
	var walk func(path string, v value.Value, fixed bool)
	walk = func(path string, v value.Value, fixed bool) {
		for _, text := range dynamic.Texts(v.Text()) {
			if strings.HasPrefix(text, secureMark) && !secureProperties[path] {
				paths = append(paths, path)
			}
		}
		for _, item := range v.Items() {
			walk(path, item, true)
		}
		for _, m := range v.Members() {
			if fixed || m.Key == "Ref" || strings.HasPrefix(m.Key, "Fn::") {
				walk(path, m.Value, true)
			} else {
				walk(path+"/"+m.Key, m.Value, false)
			}
		}
	}
	walk(resourceType+"/Properties", properties, false)
	return paths
}

const secureMark = "{{resolve:" + string(dynamic.SSMSecure) + ":"

// ErrSecure returns the error for the paths that [SecureReferences] returned, in CloudFormation's words.
func ErrSecure(paths []string) error {
	return wrong("SSM Secure reference is not supported in: [" + strings.Join(paths, ",") + "]")
}

// checkSecure returns the ssm-secure references of a declared resource that are not supported.
func (s *Schema) checkSecure(r *template.Resource) []Problem {
	if s.Dialect == wire.ROS || r.Properties.IsZero() {
		return nil
	}
	paths := SecureReferences(s.Name, r.Properties.Value())
	if paths == nil {
		return nil
	}
	return []Problem{{Text: ErrSecure(paths).Error(), Line: r.Properties.Line(), Column: r.Properties.Column()}}
}
