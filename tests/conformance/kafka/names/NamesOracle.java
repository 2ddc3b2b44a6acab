import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/**
 * Answers how Java prints distinguished names, and what Kafka's SslPrincipalMapper makes of them.
 *
 * <p>Each line of standard input is a JSON object, answered by one line:
 *
 * <pre>
 * {"names": [DER in hexadecimal]}                         -> {"answers": [answer]}
 * {"rules": ssl.principal.mapping.rules, "texts": [text]} -> {"answers": [answer]} or {"refused": text}
 * </pre>
 *
 * An answer is {"is": text} or {"refused": text}.
 */
public final class NamesOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private NamesOracle() {}

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode answer = answer(JSON.readTree(line));
            System.out.write((JSON.writeValueAsString(answer) + "\n").getBytes(StandardCharsets.UTF_8));
            System.out.flush();
        }
    }

    private static ObjectNode answer(JsonNode asked) {
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode answers = JSON.createArrayNode();
        if (asked.has("names")) {
            for (JsonNode name : asked.get("names")) {
                answers.add(told(() -> new X500Principal(HexFormat.of().parseHex(name.asText())).getName()));
            }
        } else {
            SslPrincipalMapper mapper;
            try {
                mapper = SslPrincipalMapper.fromRules(asked.get("rules").asText());
            } catch (RuntimeException | StackOverflowError refused) {
                return answer.put("refused", String.valueOf(refused.getMessage()));
            }
            for (JsonNode text : asked.get("texts")) {
                answers.add(told(() -> mapper.getName(text.asText())));
            }
        }
        answer.set("answers", answers);
        return answer;
    }

    private interface Question {
        String ask() throws Exception;
    }

    private static ObjectNode told(Question question) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            return answer.put("is", question.ask());
        } catch (Exception | StackOverflowError refused) {
            return answer.put("refused", String.valueOf(refused.getMessage()));
        }
    }
}
