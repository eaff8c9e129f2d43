import com.aliyun.tea.TeaException;
import com.aliyun.teaopenapi.models.Config;
import com.aliyun.teaopenapi.models.OpenApiRequest;
import com.aliyun.teaopenapi.models.Params;
import com.aliyun.teautil.models.RuntimeOptions;
import com.aliyuncs.CommonRequest;
import com.aliyuncs.DefaultAcsClient;
import com.aliyuncs.exceptions.ClientException;
import com.aliyuncs.http.MethodType;
import com.aliyuncs.http.ProtocolType;
import com.aliyuncs.profile.DefaultProfile;
import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.util.HashMap;
import java.util.Map;

/**
 * The life of a stack by the libraries beneath the SDKs for Java: java Clients.java CLIENT ENDPOINT PROVIDER. CLIENT is java, which signs
 * with V3, or java-v1. PROVIDER is a service token. The key is in the environment, KEY_ID and KEY_SECRET. An unexpected reply is an error.
 */
public class Clients {
    static final String REGION = "cn-hangzhou";

    /** The service has refused a call. */
    static class Refused extends Exception {
        final String code;
        final int status; // 0 if the library does not tell

        Refused(String code, int status, String message) {
            super(status + " " + code + ": " + message);
            this.code = code;
            this.status = status;
        }
    }

    /** A client that calls an action with parameters, which are names and values in turn. */
    interface Calls {
        JsonObject call(String action, String... parameters) throws Exception;
    }

    static Calls v3(String host, String secret) throws Exception {
        Config config = new Config().setAccessKeyId(System.getenv("KEY_ID")).setAccessKeySecret(secret).setEndpoint(host).setProtocol("http");
        com.aliyun.teaopenapi.Client client = new com.aliyun.teaopenapi.Client(config.setRegionId(REGION));
        return (action, parameters) -> {
            Map<String, String> query = new HashMap<>(Map.of("RegionId", REGION));
            Map<String, Object> body = new HashMap<>();
            for (int i = 0; i < parameters.length; i += 2) {
                if (parameters[i].equals("TemplateBody")) { // as the SDK has it
                    body.put(parameters[i], parameters[i + 1]);
                } else {
                    query.put(parameters[i], parameters[i + 1]);
                }
            }
            Params params = new Params().setAction(action).setVersion("2019-09-10").setProtocol("HTTP").setMethod("POST").setAuthType("AK")
                .setStyle("RPC").setPathname("/").setReqBodyType("formData").setBodyType("json");
            OpenApiRequest request = new OpenApiRequest().setQuery(query);
            if (!body.isEmpty()) {
                request.setBody(body);
            }
            try {
                Object reply = client.callApi(params, request, new RuntimeOptions()).get("body");
                return JsonParser.parseString(new Gson().toJson(reply)).getAsJsonObject();
            } catch (TeaException e) {
                throw new Refused(e.getCode(), e.getStatusCode() == null ? 0 : e.getStatusCode(), e.getMessage());
            }
        };
    }

    static Calls v1(String host, String secret) {
        DefaultAcsClient client = new DefaultAcsClient(DefaultProfile.getProfile(REGION, System.getenv("KEY_ID"), secret));
        return (action, parameters) -> {
            CommonRequest request = new CommonRequest();
            request.setSysDomain(host);
            request.setSysProtocol(ProtocolType.HTTP);
            request.setSysMethod(MethodType.POST);
            request.setSysVersion("2019-09-10");
            request.setSysAction(action);
            request.putQueryParameter("RegionId", REGION);
            for (int i = 0; i < parameters.length; i += 2) {
                request.putBodyParameter(parameters[i], parameters[i + 1]);
            }
            try {
                return JsonParser.parseString(client.getCommonResponse(request).getData()).getAsJsonObject();
            } catch (ClientException e) { // a ServerException is one
                throw new Refused(e.getErrCode(), 0, e.getErrMsg());
            }
        };
    }

    static void same(Object got, Object want) {
        if (!got.equals(want)) {
            throw new AssertionError(got + ", want " + want);
        }
    }

    static String refused(String code, int status, Calls client, String action, String... parameters) throws Exception {
        try {
            throw new AssertionError(code + " was expected, not " + client.call(action, parameters));
        } catch (Refused e) {
            same(e.code, code);
            if (e.status != 0) {
                same(e.status, status);
            }
            return e.getMessage();
        }
    }

    static Calls client;

    /** Waits for the end of a stack's operation. */
    static JsonObject settled(String id, String want) throws Exception {
        for (int i = 0; i < 600; i++) {
            JsonObject stack = client.call("GetStack", "StackId", id);
            if (!stack.get("Status").getAsString().endsWith("_IN_PROGRESS")) {
                same(stack.get("Status").getAsString(), want);
                return stack;
            }
            Thread.sleep(50);
        }
        throw new AssertionError(id + " did not become " + want);
    }

    static String template(String provider, String size) {
        return "{\"ROSTemplateFormatVersion\": \"2015-09-01\", \"Description\": \"Ein Ding für *alle* ~ & a+b=c %\", \"Parameters\": {"
            + "\"Size\": {\"Type\": \"Number\", \"Default\": 1}, \"Password\": {\"Type\": \"String\", \"NoEcho\": true}}, \"Resources\": {\"Thing\": "
            + "{\"Type\": \"Custom::Thing\", \"Properties\": {\"ServiceToken\": \"" + provider + "\", \"Timeout\": 60, \"Parameters\": {\"Size\": "
            + size + "}}}}, \"Outputs\": {\"Answer\": {\"Value\": {\"Fn::GetAtt\": [\"Thing\", \"Answer\"]}}}}";
    }

    public static void main(String[] arguments) throws Exception {
        String kind = arguments[0], host = arguments[1].replaceFirst("^http://", ""), provider = arguments[2];
        boolean first = kind.equals("java-v1");
        client = first ? v1(host, System.getenv("KEY_SECRET")) : v3(host, System.getenv("KEY_SECRET"));
        Calls stranger = first ? v1(host, "not the secret of the key") : v3(host, "not the secret of the key");
        String missing = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42", name = "stack-" + kind, body = template(provider, "{\"Ref\": \"Size\"}");
        String key = "Parameters.1.ParameterKey", value = "Parameters.1.ParameterValue", password = "p ä*~'()!";
        refused("SignatureDoesNotMatch", 400, stranger, "ListStacks");
        refused("StackNotFound", 404, client, "GetStack", "StackId", missing);
        refused("ChangeSetNotFound", 404, client, "GetChangeSet", "ChangeSetId", missing);

        String id = client.call("CreateStack", "StackName", name, "TemplateBody", body, key, "Password", value, password).get("StackId").getAsString();
        JsonObject output = settled(id, "CREATE_COMPLETE").getAsJsonArray("Outputs").get(0).getAsJsonObject();
        same(output.get("OutputKey").getAsString() + " " + output.get("OutputValue").getAsDouble(), "Answer 42.5");
        refused("StackExists", 409, client, "CreateStack", "StackName", name, "TemplateBody", body, key, "Password", value, password);
        String same = refused("NotSupported", 400, client, "UpdateStack", "StackId", id, "TemplateBody", body, key, "Password", value, password);
        if (!same.contains("Update the completely same stack")) {
            throw new AssertionError(same);
        }

        client.call("UpdateStack", "StackId", id, "TemplateBody", body, "UsePreviousParameters", "true", key, "Size", value, "2");
        settled(id, "UPDATE_COMPLETE");
        String set = client.call("CreateChangeSet", "ChangeSetName", "more", "StackId", id, "TemplateBody", template(provider, "3"),
            "UsePreviousParameters", "true").get("ChangeSetId").getAsString();
        same(client.call("GetChangeSet", "ChangeSetId", set).getAsJsonArray("Changes").size(), 1);
        client.call("ExecuteChangeSet", "ChangeSetId", set);
        settled(id, "UPDATE_COMPLETE");

        same(client.call("GetTemplate", "StackId", id).get("TemplateBody").getAsString(), template(provider, "3"));
        JsonArray resources = client.call("ListStackResources", "StackId", id).getAsJsonArray("Resources");
        same(resources.get(0).getAsJsonObject().get("PhysicalResourceId").getAsString(), "thing-1");
        JsonArray events = client.call("ListStackEvents", "StackId", id, "PageNumber", "1", "PageSize", "50").getAsJsonArray("Events");
        same(events.get(0).getAsJsonObject().get("Status").getAsString(), "UPDATE_COMPLETE");
        client.call("DeleteStack", "StackId", id);
        settled(id, "DELETE_COMPLETE");
        System.exit(0); // the libraries keep threads
    }
}
