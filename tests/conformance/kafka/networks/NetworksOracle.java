import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.controller.AclControlManager;
import org.apache.kafka.server.authorizer.internals.CidrUtils;

/**
 * Answers what Kafka says to hosts of ACLs, and which clients they match.
 *
 * <p>Each line of standard input is a JSON object, answered by one line:
 *
 * <pre>
 * {"supported": whether the metadata version knows networks, "hosts": [text], "clients": [text]}
 *  -> {"refusals": [[class, text] or null], "matches": [[0 or 1 for each client] for each host]}
 * </pre>
 */
public final class NetworksOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private NetworksOracle() {}

    public static void main(String[] args) throws Exception {
        Method validate =
                AclControlManager.class.getDeclaredMethod("validateHostPattern", String.class, boolean.class);
        validate.setAccessible(true);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode answer = answer(validate, JSON.readTree(line));
            System.out.write((JSON.writeValueAsString(answer) + "\n").getBytes(StandardCharsets.UTF_8));
            System.out.flush();
        }
    }

    private static ObjectNode answer(Method validate, JsonNode asked) throws IllegalAccessException {
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode refusals = answer.putArray("refusals");
        ArrayNode matches = answer.putArray("matches");
        for (JsonNode host : asked.get("hosts")) {
            try {
                validate.invoke(null, host.asText(), asked.get("supported").asBoolean());
                refusals.addNull();
            } catch (InvocationTargetException e) {
                Throwable cause = e.getCause();
                refusals.addArray().add(cause.getClass().getSimpleName()).add(cause.getMessage());
            }
            ArrayNode row = matches.addArray();
            for (JsonNode client : asked.get("clients")) {
                row.add(CidrUtils.isInRange(client.asText(), host.asText()) ? 1 : 0);
            }
        }
        return answer;
    }
}
