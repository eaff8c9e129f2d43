// Answers with the client that the resource's property Client names, as CLIENT:FORM. It speaks the Lambda Runtime API itself.
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class Client {
  static final HttpClient runtime = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  public static void main(String[] args) throws Exception {
    String api = "http://" + System.getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/";
    while (true) {
      HttpResponse<String> next = runtime.send(
          HttpRequest.newBuilder(URI.create(api + "next")).build(), HttpResponse.BodyHandlers.ofString());
      String id = next.headers().firstValue("Lambda-Runtime-Aws-Request-Id").get();
      String path = "/response", said = "null";
      try {
        if (id.equals(field(next.body(), "RequestId"))) {
          throw new IllegalStateException("the ID of the invocation is that of the request");
        }
        handle(next.body());
      } catch (Exception e) {
        e.printStackTrace();
        path = "/error";
        said = "{\"errorType\": \"" + e.getClass().getName() + "\", \"errorMessage\": \"it could not answer\"}";
      }
      runtime.send(HttpRequest.newBuilder(URI.create(api + id + path)).POST(HttpRequest.BodyPublishers.ofString(said)).build(),
          HttpResponse.BodyHandlers.ofString());
    }
  }

  static String field(String event, String name) {
    Matcher m = Pattern.compile("\"" + name + "\"\\s*:\\s*\"([^\"]*)\"").matcher(event);
    if (!m.find()) {
      throw new IllegalArgumentException("no " + name);
    }
    return m.group(1).replace("\\u0026", "&");
  }

  static void handle(String event) throws Exception {
    String[] client = field(event, "Client").split(":");
    String url = field(event, "ResponseURL");
    if (client[1].equals("port")) {
      url = url.replaceFirst("^http:", "https:");
    } else if (client[1].equals("443")) {
      url = url.replaceFirst("^http://([^/:]+)(:\\d+)?", "https://$1");
    }
    String body = "{\"Status\": \"SUCCESS\", \"PhysicalResourceId\": \"" + field(event, "LogicalResourceId") + "\"";
    for (String name : new String[] {"StackId", "RequestId", "LogicalResourceId"}) {
      body += ", \"" + name + "\": \"" + field(event, name) + "\"";
    }
    body += "}";
    int status;
    if (client[0].equals("HttpURLConnection")) { // or HttpsURLConnection, which it then is
      HttpURLConnection c = (HttpURLConnection) URI.create(url).toURL().openConnection();
      c.setDoOutput(true);
      c.setRequestMethod("PUT");
      try (OutputStream out = c.getOutputStream()) {
        out.write(body.getBytes(StandardCharsets.UTF_8));
      }
      status = c.getResponseCode();
    } else {
      status = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(url))
          .PUT(HttpRequest.BodyPublishers.ofString(body)).build(), HttpResponse.BodyHandlers.ofString()).statusCode();
    }
    if (status != 200) {
      throw new IllegalStateException("status " + status);
    }
  }
}
