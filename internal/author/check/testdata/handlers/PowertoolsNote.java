import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.events.CloudFormationCustomResourceEvent;
import java.util.Map;
import software.amazon.lambda.powertools.cloudformation.AbstractCustomResourceHandler;
import software.amazon.lambda.powertools.cloudformation.Response;

/** A note, on Powertools for AWS Lambda (Java). */
public class PowertoolsNote extends AbstractCustomResourceHandler {
    @Override
    protected Response create(CloudFormationCustomResourceEvent event, Context context) {
        return write(event);
    }

    @Override
    protected Response update(CloudFormationCustomResourceEvent event, Context context) {
        return write(event);
    }

    @Override
    protected Response delete(CloudFormationCustomResourceEvent event, Context context) {
        return Response.success(event.getPhysicalResourceId());
    }

    private Response write(CloudFormationCustomResourceEvent event) {
        String name = (String) event.getResourceProperties().get("Name");
        if (!name.matches("[a-z0-9-]+")) {
            throw new IllegalArgumentException("Name: want lower-case letters, got " + name);
        }
        return Response.builder()
                .value(Map.of("Path", "/notes/" + name))
                .physicalResourceId("note-" + name)
                .status(Response.Status.SUCCESS)
                .build();
    }
}
