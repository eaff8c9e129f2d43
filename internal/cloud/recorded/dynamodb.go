package recorded

import (
	"errors"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/awsapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// dynamodbOperations are the operations of DynamoDB. Source: Amazon DynamoDB API Reference, version 2012-08-10.
var dynamodbOperations = map[string]operation{
	"DescribeTable": describeTable,
	"UpdateTable":   updateTable,
}

const replicasState = "replicas"

// maxReplicas is the maximum number of replicas of a table, more than AWS has regions.
const maxReplicas = 100

// tableTypes are the resource types of tables.
var tableTypes = []string{"AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"}

// table returns a table by its name or ARN.
func (c *call) table(name string) (record, error) {
	if _, after, ok := strings.Cut(name, ":table/"); ok {
		name = after
	}
	for _, kind := range tableTypes {
		r, err := c.get(kind, name)
		if !errors.Is(err, registry.ErrNotFound) {
			return r, err
		}
	}
	return record{}, awsapi.Refuse("ResourceNotFoundException", "Requested resource not found: Table: %.255s not found", name)
}

func (c *call) tableOut(r record) (object, error) {
	var regions []string
	if err := r.state(replicasState, &regions); err != nil {
		return nil, err
	}
	for _, replica := range items(r.properties, "Replicas") {
		if region := text(replica, "Region"); region != c.place.Region && !slices.Contains(regions, region) {
			regions = append(regions, region)
		}
	}
	var replicas []object
	for _, region := range regions {
		replicas = append(replicas, object{"RegionName": region, "ReplicaStatus": "ACTIVE"})
	}
	out := object{
		"TableName": r.id, "TableArn": c.arn("dynamodb", "table/"+r.id), "TableStatus": "ACTIVE", "CreationDateTime": r.Of.Made,
		"ItemCount": int64(0), "TableSizeBytes": int64(0),
	}
	if len(replicas) > 0 {
		out["Replicas"], out["GlobalTableVersion"] = anys(replicas), "2019.11.21"
	}
	var keys, attributes []object
	for _, k := range items(r.properties, "KeySchema") {
		keys = append(keys, object{"AttributeName": text(k, "AttributeName"), "KeyType": text(k, "KeyType")})
	}
	for _, a := range items(r.properties, "AttributeDefinitions") {
		attributes = append(attributes, object{"AttributeName": text(a, "AttributeName"), "AttributeType": text(a, "AttributeType")})
	}
	out["KeySchema"], out["AttributeDefinitions"] = anys(keys), anys(attributes)
	return out, nil
}

func describeTable(c *call) (object, error) {
	r, err := c.table(text(c.in, "TableName"))
	if err != nil {
		return nil, err
	}
	out, err := c.tableOut(r)
	return object{"Table": out}, err
}

// updateTable changes the replicas of a table, which exist at once.
func updateTable(c *call) (object, error) {
	for name := range c.in {
		if name != "TableName" && name != "ReplicaUpdates" {
			return nil, awsapi.Refuse("ValidationException", "Of a recorded table, Pintle changes only ReplicaUpdates, not %s. "+
				"Set AWS_ENDPOINT_URL_DYNAMODB to the address of a DynamoDB.", name)
		}
	}
	there, err := c.table(text(c.in, "TableName"))
	if err != nil {
		return nil, err
	}
	kind, _, _ := strings.Cut(there.Name, "/")
	changed, err := c.change(kind, there.id, func(r *record) error {
		var regions []string
		if err := r.state(replicasState, &regions); err != nil {
			return err
		}
		for _, update := range items(c.in, "ReplicaUpdates") {
			if region := text(child(update, "Create"), "RegionName"); region != "" {
				if slices.Contains(regions, region) || region == c.place.Region {
					return awsapi.Refuse("ValidationException", "Failed to create a the new replica of table with name: '%s' because one or more replicas "+
						"already existed as tables.", r.id)
				}
				regions = append(regions, region)
			}
			if region := text(child(update, "Delete"), "RegionName"); region != "" {
				at := slices.Index(regions, region)
				if at < 0 {
					return awsapi.Refuse("ValidationException", "Update global table operation failed because one or more replicas were not part of the global table.")
				}
				regions = slices.Delete(regions, at, at+1)
			}
		}
		if len(regions) > maxReplicas {
			return awsapi.Refuse("LimitExceededException", "A table has at most %d replicas.", maxReplicas)
		}
		return r.attach(replicasState, regions)
	})
	if err != nil {
		return nil, err
	}
	out, err := c.tableOut(changed)
	return object{"TableDescription": out}, err
}
