import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.security.kerberos.KerberosName;
import org.apache.kafka.common.security.kerberos.KerberosShortNamer;

/**
 * Answers which user's name Kafka's rules give to Kerberos names.
 *
 * <p>Each line of standard input is a JSON object, answered by one line:
 *
 * <pre>
 * {"realm": text, "rules": [text], "names": [text]} -> {"names": [text, or null for none]} or {"refused": text}
 * </pre>
 */
public final class RulesOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private RulesOracle() {}

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode answer = answer(JSON.readTree(line));
            System.out.write((JSON.writeValueAsString(answer) + "\n").getBytes(StandardCharsets.UTF_8));
            System.out.flush();
        }
    }

    private static ObjectNode answer(JsonNode asked) {
        List<String> rules = new ArrayList<>();
        asked.get("rules").forEach(rule -> rules.add(rule.asText()));
        KerberosShortNamer namer;
        try {
            namer = KerberosShortNamer.fromUnparsedRules(asked.get("realm").asText(), rules);
        } catch (RuntimeException e) {
            return JSON.createObjectNode().put("refused", String.valueOf(e.getMessage()));
        }
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode names = answer.putArray("names");
        asked.get("names").forEach(name -> names.add(shortName(namer, name.asText())));
        return answer;
    }

    private static String shortName(KerberosShortNamer namer, String name) {
        try {
            return namer.shortName(KerberosName.parse(name));
        } catch (Exception e) {
            return null;
        }
    }
}
