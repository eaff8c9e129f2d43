import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.ObjectMapper;
import example.sites.WebSite;
import software.amazon.awscdk.App;
import software.amazon.awscdk.CfnOutput;
import software.amazon.awscdk.Stack;
import software.amazon.awscdk.Token;
import software.amazon.awscdk.services.lambda.Function;

/** Prints the template of a stack with a generated construct. */
public final class Main {
    public static void main(final String[] args) throws Exception {
        final App app = new App();
        final Stack stack = new Stack(app, "S");
        final WebSite site = new WebSite(stack, "Site", WebSite.Props.builder()
            .serviceToken(Function.fromFunctionArn(stack, "F", "arn:aws:lambda:us-east-1:000000000000:function:sites"))
            .name("a")
            .pages(List.of(WebSite.PagesItem.builder().title("Home").weight(3).build()))
            .groups(Map.of("admins", List.of(WebSite.GroupsValueItem.builder().member("m").build())))
            .labels(Map.of("k", "v"))
            .level(2)
            .menu(WebSite.Menu.builder().title("Top").entries(List.of(WebSite.Menu.builder().title("Below").build())).build())
            .origin(WebSite.Origin.builder().class_(true).from("x").build())
            .private_(true)
            .timeout("30s")
            .urls(List.of("a", "b"))
            .build());
        CfnOutput.Builder.create(site, "Url").value(site.getAttrUrl()).build();
        CfnOutput.Builder.create(stack, "Visits").value(Token.asString(site.getAttrVisits())).build();
        System.out.println(new ObjectMapper().writeValueAsString(app.synth().getStackByName("S").getTemplate()));
    }
}
