package main

import (
	"errors"
	"os"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	openapiutil "github.com/alibabacloud-go/darabonba-openapi/v2/utils"
	"github.com/alibabacloud-go/tea/dara"
	"github.com/alibabacloud-go/tea/tea"
)

// connectV3 calls as the generated SDK of ROS does: the template in the body, everything else in the query.
func connectV3(host, secret string) (caller, error) {
	client, err := openapi.NewClient(&openapiutil.Config{
		AccessKeyId: dara.String(os.Getenv("KEY_ID")), AccessKeySecret: dara.String(secret), Endpoint: dara.String(host),
		Protocol: dara.String("HTTP"), RegionId: dara.String(region),
	})
	if err != nil {
		return nil, err
	}
	return func(action string, parameters object) (object, error) {
		query, body := object{"RegionId": region}, object{}
		for name, value := range parameters {
			if name == "TemplateBody" {
				body[name] = value
			} else {
				query[name] = value
			}
		}
		reply, err := client.CallApi(&openapiutil.Params{
			Action: dara.String(action), Version: dara.String(version), Protocol: dara.String("HTTPS"), Pathname: dara.String("/"),
			Method: dara.String("POST"), AuthType: dara.String("AK"), Style: dara.String("RPC"), ReqBodyType: dara.String("formData"),
			BodyType: dara.String("json"),
		}, &openapiutil.OpenApiRequest{Query: openapiutil.Query(query), Body: openapiutil.ParseToMap(body)}, &dara.RuntimeOptions{})
		if refused, ok := errors.AsType[*tea.SDKError](err); ok {
			return nil, &refusal{tea.StringValue(refused.Code), tea.StringValue(refused.Message), tea.IntValue(refused.StatusCode)}
		}
		if err != nil {
			return nil, err
		}
		answer, _ := reply["body"].(object)
		return answer, nil
	}, nil
}
