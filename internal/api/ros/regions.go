package ros

import (
	"context"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/rpc"
)

// Endpoint is the endpoint of ROS for all regions. Clients that use DescribeRegions to find the endpoint call it
// instead of this server.
const Endpoint = "ros.aliyuncs.com"

// places are the regions of ROS, in pairs of ID and name. Other regions are accepted too, because a region is only part
// of a name here.
var places = [...][2]string{
	{"cn-qingdao", "China (Qingdao)"}, {"cn-beijing", "China (Beijing)"}, {"cn-zhangjiakou", "China (Zhangjiakou)"},
	{"cn-huhehaote", "China (Hohhot)"}, {"cn-wulanchabu", "China (Ulanqab)"}, {"cn-hangzhou", "China (Hangzhou)"},
	{"cn-shanghai", "China (Shanghai)"}, {"cn-nanjing", "China (Nanjing)"}, {"cn-fuzhou", "China (Fuzhou)"},
	{"cn-wuhan-lr", "China (Wuhan)"}, {"cn-shenzhen", "China (Shenzhen)"}, {"cn-heyuan", "China (Heyuan)"},
	{"cn-guangzhou", "China (Guangzhou)"}, {"cn-chengdu", "China (Chengdu)"}, {"cn-hongkong", "China (Hong Kong)"},
	{"ap-northeast-1", "Japan (Tokyo)"}, {"ap-northeast-2", "South Korea (Seoul)"}, {"ap-southeast-1", "Singapore"},
	{"ap-southeast-3", "Malaysia (Kuala Lumpur)"}, {"ap-southeast-5", "Indonesia (Jakarta)"},
	{"ap-southeast-6", "Philippines (Manila)"}, {"ap-southeast-7", "Thailand (Bangkok)"},
	{"us-east-1", "US (Virginia)"}, {"us-west-1", "US (Silicon Valley)"}, {"eu-central-1", "Germany (Frankfurt)"},
	{"eu-west-1", "UK (London)"}, {"me-east-1", "UAE (Dubai)"},
}

type describeRegionsInput struct {
	AcceptLanguage string
}

type regionView struct {
	RegionID       string `json:"RegionId"`
	LocalName      string
	RegionEndpoint string
}

type describeRegionsOutput struct {
	Regions []regionView
}

func (f *handler) describeRegions(context.Context, describeRegionsInput) (describeRegionsOutput, error) {
	var out describeRegionsOutput
	for _, place := range places {
		out.Regions = append(out.Regions, regionView{place[0], place[1], Endpoint})
	}
	return out, nil
}

// region is embedded in the input of all regional actions.
type region struct {
	RegionID string `rpc:"RegionId,required" length:",64" pattern:"[a-z0-9][-a-z0-9]*"`
}

// RegionOf returns the region of a call, or "".
func RegionOf(call *rpc.Call) string { return strings.TrimSpace(call.Parameters.Get("RegionId")) }
