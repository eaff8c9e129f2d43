// The program prints the template of a stack with a generated construct.
package main

import (
	"encoding/json"
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"example.com/constructs/sites"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("S"), nil)
	site := sites.NewWebSite(stack, jsii.String("Site"), &sites.WebSiteProps{
		ServiceToken: jsii.String("arn:aws:lambda:us-east-1:000000000000:function:sites"),
		Name:         jsii.String("a"),
		Pages:        &[]*sites.WebSitePagesItem{{Title: jsii.String("Home"), Weight: jsii.Number(3)}},
		Groups:       &map[string]*[]*sites.WebSiteGroupsValueItem{"admins": {{Member: jsii.String("m")}}},
		Labels:       &map[string]*string{"k": jsii.String("v")},
		Level:        jsii.Number(2),
		Menu:         &sites.WebSiteMenu{Title: jsii.String("Top"), Entries: &[]*sites.WebSiteMenu{{Title: jsii.String("Below")}}},
		Origin:       &sites.WebSiteOrigin{Class: jsii.Bool(true), From: jsii.String("x")},
		Private:      jsii.Bool(true),
		Timeout:      "30s",
		URLs:         jsii.Strings("a", "b"),
	})
	awscdk.NewCfnOutput(site, jsii.String("Url"), &awscdk.CfnOutputProps{Value: site.AttrUrl()})
	awscdk.NewCfnOutput(stack, jsii.String("Visits"), &awscdk.CfnOutputProps{Value: awscdk.Token_AsString(site.AttrVisits(), nil)})
	text, err := json.Marshal(app.Synth(nil).GetStackByName(jsii.String("S")).Template())
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}
