import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Map;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.client.builder.AwsClientBuilder;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.retries.DefaultRetryStrategy;
import software.amazon.awssdk.services.cloudwatch.CloudWatchClient;
import software.amazon.awssdk.services.eks.EksClient;
import software.amazon.awssdk.services.route53.Route53Client;
import software.amazon.awssdk.services.sns.SnsClient;
import software.amazon.awssdk.services.sqs.SqsClient;

/** Calls services that a server does not have, and prints for each what the SDK reports: SERVICE, CODE and MESSAGE with tabs between. */
public class Absent {
    public static void main(String[] args) {
        URI url = URI.create(args[0]);
        Map<String, Runnable> calls = new LinkedHashMap<>();
        calls.put("SNS", () -> with(SnsClient.builder(), url).listTopics());
        calls.put("SQS", () -> with(SqsClient.builder(), url).listQueues());
        calls.put("EKS", () -> with(EksClient.builder(), url).listClusters());
        calls.put("ROUTE_53", () -> with(Route53Client.builder(), url).listHostedZones());
        calls.put("CLOUDWATCH", () -> with(CloudWatchClient.builder(), url).listMetrics());
        calls.forEach((service, call) -> {
            String code = "", message = "";
            try {
                call.run();
            } catch (AwsServiceException e) {
                code = e.awsErrorDetails().errorCode();
                message = e.awsErrorDetails().errorMessage();
            } catch (RuntimeException e) {
                message = e.toString();
            }
            System.out.println(service + "\t" + code + "\t" + message);
        });
    }

    private static <B extends AwsClientBuilder<B, C>, C> C with(B builder, URI url) {
        return builder.endpointOverride(url)
            .region(Region.EU_WEST_1)
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("AKID", "SECRET")))
            .overrideConfiguration(c -> c.retryStrategy(DefaultRetryStrategy.doNotRetry()))
            .build();
    }
}
