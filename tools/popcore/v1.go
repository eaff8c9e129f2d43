package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	sdkerrors "github.com/aliyun/alibaba-cloud-sdk-go/sdk/errors"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
)

// connectV1 calls as the aliyun CLI does: parameters of the signature in the query, all others in the form.
func connectV1(host, secret string) (caller, error) {
	client, err := sdk.NewClientWithAccessKey(region, os.Getenv("KEY_ID"), secret)
	if err != nil {
		return nil, err
	}
	return func(action string, parameters object) (object, error) {
		request := requests.NewCommonRequest()
		request.Method, request.Scheme, request.Domain = "POST", "http", host
		request.Product, request.Version, request.ApiName = "ROS", version, action
		request.FormParams["RegionId"] = region
		flatten(request.FormParams, "", parameters)
		reply, err := client.ProcessCommonRequest(request)
		if refused, ok := errors.AsType[*sdkerrors.ServerError](err); ok {
			return nil, &refusal{refused.ErrorCode(), refused.Message(), refused.HttpStatus()}
		}
		if err != nil {
			return nil, err
		}
		var answer object
		return answer, json.Unmarshal(reply.GetHttpContentBytes(), &answer)
	}, nil
}

// flatten writes lists as Name.1, Name.2 and so on.
func flatten(form map[string]string, name string, value any) {
	switch v := value.(type) {
	case object:
		for key, inner := range v {
			if name != "" {
				key = name + "." + key
			}
			flatten(form, key, inner)
		}
	case []any:
		for i, inner := range v {
			flatten(form, name+"."+strconv.Itoa(i+1), inner)
		}
	default:
		form[name] = fmt.Sprint(v)
	}
}
