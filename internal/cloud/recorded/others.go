package recorded

import (
	"errors"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/base/awsapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// codedeployOperations are the operations of CodeDeploy. Source: AWS CodeDeploy API Reference, version 2014-10-06.
var codedeployOperations = map[string]operation{
	"CreateDeploymentConfig": createDeploymentConfig,
	"DeleteDeploymentConfig": deleteDeploymentConfig,
}

const deploymentConfigType = "AWS::CodeDeploy::DeploymentConfig"

// maxDeploymentConfigs is the maximum number of deployment configurations in a region. Source: CodeDeploy quotas.
const maxDeploymentConfigs = 200

func createDeploymentConfig(c *call) (object, error) {
	name := text(c.in, "deploymentConfigName")
	if name == "" {
		return nil, awsapi.Refuse("DeploymentConfigNameRequiredException", "The deployment configuration name was not specified.")
	}
	if !valid(name) || len(name) > 100 {
		return nil, awsapi.Refuse("InvalidDeploymentConfigNameException", "The deployment configuration name has 1 to 100 characters.")
	}
	list, err := c.all(deploymentConfigType)
	if err != nil {
		return nil, err
	}
	if len(list) >= maxDeploymentConfigs {
		return nil, awsapi.Refuse("DeploymentConfigLimitExceededException", "There are already %d deployment configurations.", maxDeploymentConfigs)
	}
	err = c.create(deploymentConfigType, name, c.in)
	if errors.Is(err, registry.ErrExists) {
		return nil, awsapi.Refuse("DeploymentConfigAlreadyExistsException", "The deployment configuration name %s already exists.", name)
	}
	return object{"deploymentConfigId": uuid.NewString()}, err
}

// deleteDeploymentConfig deletes a deployment configuration. Deleting a missing one succeeds, because the API has no
// error for it.
func deleteDeploymentConfig(c *call) (object, error) {
	err := c.drop(deploymentConfigType, text(c.in, "deploymentConfigName"))
	if errors.Is(err, registry.ErrNotFound) {
		err = nil
	}
	return nil, err
}

// syntheticsOperations are the operations of CloudWatch Synthetics. Source: CloudWatch Synthetics API Reference,
// version 2017-10-11.
var syntheticsOperations = map[string]operation{"GetCanary": getCanary}

// getCanary describes a canary. It has no function, because canaries do not run.
func getCanary(c *call) (object, error) {
	name := text(c.in, "Name")
	r, err := c.get("AWS::Synthetics::Canary", name)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, missing(http.StatusNotFound, "ResourceNotFoundException", "Canary not found: %.255s", name)
	}
	if err != nil {
		return nil, err
	}
	tags := object{}
	for key, value := range r.tags() {
		tags[key] = value
	}
	return object{"Canary": object{"Name": name, "Id": uuid.NewSHA1(uuid.NameSpaceOID, []byte(r.Owner)).String(), "Tags": tags}}, nil
}

// glueOperations are the operations of Glue. Source: AWS Glue Web API Reference, version 2017-03-31.
var glueOperations = map[string]operation{
	"CreatePartitionIndex": createIndex,
	"GetPartitionIndexes":  getIndexes,
	"DeletePartitionIndex": deleteIndex,
}

const (
	glueTableType = "AWS::Glue::Table"
	indexesState  = "partitionIndexes"
	// maxIndexes is the maximum number of partition indexes of a table. Source: AWS Glue, working with partition
	// indexes.
	maxIndexes = 3
)

// index is a partition index of a table.
type index struct {
	Name string
	Keys []string
}

// changeIndexes changes the partition indexes of the table that a call names.
func changeIndexes(c *call, change func([]index) ([]index, error)) error {
	name := text(c.in, "TableName")
	_, err := c.change(glueTableType, name, func(r *record) error {
		var list []index
		err := r.state(indexesState, &list)
		if err == nil {
			list, err = change(list)
		}
		if err != nil {
			return err
		}
		return r.attach(indexesState, list)
	})
	return noTable(name, err)
}

func noTable(name string, err error) error {
	if errors.Is(err, registry.ErrNotFound) {
		return awsapi.Refuse("EntityNotFoundException", "Table %.255s not found.", name)
	}
	return err
}

func createIndex(c *call) (object, error) {
	asked := child(c.in, "PartitionIndex")
	added := index{text(asked, "IndexName"), texts(asked, "Keys")}
	if added.Name == "" || len(added.Name) > 255 || len(added.Keys) == 0 {
		return nil, awsapi.Refuse("InvalidInputException", "A partition index needs a name of at most 255 characters and a key.")
	}
	return nil, changeIndexes(c, func(list []index) ([]index, error) {
		if slices.ContainsFunc(list, func(i index) bool { return i.Name == added.Name }) {
			return nil, awsapi.Refuse("AlreadyExistsException", "Index with the given indexName : %s already exists.", added.Name)
		}
		if len(list) >= maxIndexes {
			return nil, awsapi.Refuse("ResourceNumberLimitExceededException", "A table has at most %d partition indexes.", maxIndexes)
		}
		return append(list, added), nil
	})
}

func getIndexes(c *call) (object, error) {
	r, err := c.get(glueTableType, text(c.in, "TableName"))
	if err := noTable(text(c.in, "TableName"), err); err != nil {
		return nil, err
	}
	var list []index
	if err := r.state(indexesState, &list); err != nil {
		return nil, err
	}
	out := []any{}
	for _, i := range list {
		var keys []object
		for _, k := range i.Keys {
			keys = append(keys, object{"Name": k, "Type": "string"})
		}
		out = append(out, object{"IndexName": i.Name, "Keys": anys(keys), "IndexStatus": "ACTIVE"})
	}
	return object{"PartitionIndexDescriptorList": out}, nil
}

func deleteIndex(c *call) (object, error) {
	name := text(c.in, "IndexName")
	return nil, changeIndexes(c, func(list []index) ([]index, error) {
		at := slices.IndexFunc(list, func(i index) bool { return i.Name == name })
		if at < 0 {
			return nil, awsapi.Refuse("EntityNotFoundException", "Index with the given indexName : %.255s does not exist", name)
		}
		return slices.Delete(list, at, at+1), nil
	})
}

// emrContainersOperations are the operations of EMR on EKS. Source: Amazon EMR on EKS API Reference, version
// 2020-10-01.
var emrContainersOperations = map[string]operation{"DescribeVirtualCluster": describeVirtualCluster}

func describeVirtualCluster(c *call) (object, error) {
	id := text(c.in, "id")
	r, err := c.get("AWS::EMRContainers::VirtualCluster", id)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, missing(http.StatusNotFound, "ResourceNotFoundException", "Virtual cluster %.64s doesn't exist.", id)
	}
	if err != nil {
		return nil, err
	}
	provider := child(r.properties, "ContainerProvider")
	namespace := text(child(child(provider, "Info"), "EksInfo"), "Namespace")
	return object{"virtualCluster": object{
		"id": r.id, "name": text(r.properties, "Name"), "arn": c.arn("emr-containers", "/virtualclusters/"+r.id), "state": "RUNNING", "createdAt": r.Of.Made,
		"containerProvider": object{"type": "EKS", "id": text(provider, "Id"), "info": object{"eksInfo": object{"namespace": namespace}}},
	}}, nil
}
