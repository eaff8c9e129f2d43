package dev.pintle;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestHandler;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Map;
import java.util.TreeMap;

/** Handlers of every form that Lambda has for Java. */
public class Handlers {
    public static class Mapped implements RequestHandler<Map<String, Object>, Map<String, Object>> {
        @Override
        public Map<String, Object> handleRequest(Map<String, Object> event, Context context) {
            Map<String, Object> result = new TreeMap<>();
            result.put("color", event.get("color"));
            result.put("function", context.getFunctionName());
            result.put("task", System.getenv("LAMBDA_TASK_ROOT").equals(System.getProperty("user.dir")));
            result.put("options", String.valueOf(System.getenv("JAVA_TOOL_OPTIONS")));
            result.put("trusts", System.getProperty("javax.net.ssl.trustStore", ""));
            context.getLogger().log("color " + event.get("color") + "\n");
            return result;
        }
    }

    public static class Streamed implements RequestStreamHandler {
        @Override
        public void handleRequest(InputStream in, OutputStream out, Context context) throws IOException {
            out.write("{\"echo\":".getBytes());
            in.transferTo(out);
            out.write('}');
        }
    }

    public static class Paint {
        private String color;

        public String getColor() {
            return color;
        }

        public void setColor(String color) {
            this.color = color;
        }
    }

    public Paint plain(Paint paint, Context context) {
        paint.setColor(paint.getColor().toUpperCase());
        return paint;
    }

    public String failing(Paint paint) {
        throw new IllegalStateException("no " + paint.getColor() + " left");
    }
}
