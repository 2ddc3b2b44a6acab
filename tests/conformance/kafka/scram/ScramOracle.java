import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.NameCallback;
import javax.security.sasl.SaslException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.security.scram.ScramCredential;
import org.apache.kafka.common.security.scram.ScramCredentialCallback;
import org.apache.kafka.common.security.scram.internals.ScramFormatter;
import org.apache.kafka.common.security.scram.internals.ScramMechanism;
import org.apache.kafka.common.security.scram.internals.ScramSaslServer;
import org.apache.kafka.common.security.token.delegation.internals.DelegationTokenCredentialCallback;

/**
 * Answers what Kafka's ScramSaslServer does with messages of a client.
 *
 * <p>Each line of standard input is a JSON object, answered by one line. Bytes are hex.
 *
 * <pre>
 * {"mechanism": name, "users": {name: credential}, "tokens": {id: credential}, "owner": name, "first": bytes}
 *     a login begins; {"final": bytes} goes on with it
 *     -> {"answer": bytes, "complete": false} or {"answer": bytes, "complete": true, "id": name, "by_token": text}
 *     -> {"refused": "general"}, {"refused": "told", "text": text} or {"refused": "closed"}
 * {"mechanism": name, "password": text, "salt": bytes, "iterations": n}
 *     -> credential
 * </pre>
 *
 * A credential is {"salt": bytes, "stored_key": bytes, "server_key": bytes, "iterations": n}. What is refused as
 * "told" gets its own text, as "general" the same for all; "closed" is what a broker does not answer at all.
 */
public final class ScramOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();
    private static ScramSaslServer server;

    private ScramOracle() {}

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static ObjectNode answer(JsonNode question) throws Exception {
        if (question.has("password")) {
            return made(question);
        }
        if (question.has("first")) {
            ScramMechanism mechanism = ScramMechanism.forMechanismName(question.get("mechanism").asText());
            server = new ScramSaslServer(mechanism, Map.of(), callbacks -> handle(callbacks, question));
            return taken(question.get("first"));
        }
        return taken(question.get("final"));
    }

    private static ObjectNode made(JsonNode question) throws Exception {
        ScramFormatter formatter =
                new ScramFormatter(ScramMechanism.forMechanismName(question.get("mechanism").asText()));
        byte[] salt = bytes(question.get("salt"));
        int iterations = question.get("iterations").asInt();
        byte[] salted = formatter.saltedPassword(question.get("password").asText(), salt, iterations);
        return JSON.createObjectNode()
                .put("salt", HEX.formatHex(salt))
                .put("stored_key", HEX.formatHex(formatter.storedKey(formatter.clientKey(salted))))
                .put("server_key", HEX.formatHex(formatter.serverKey(salted)))
                .put("iterations", iterations);
    }

    private static void handle(Callback[] callbacks, JsonNode question) {
        String name = null;
        for (Callback callback : callbacks) {
            if (callback instanceof NameCallback named) {
                name = named.getDefaultName();
            } else if (callback instanceof DelegationTokenCredentialCallback token) {
                token.scramCredential(credential(question.get("tokens").get(name)));
                if (question.get("tokens").has(name)) {
                    token.tokenOwner(question.get("owner").asText());
                    token.tokenExpiryTimestamp(0L);
                }
            } else if (callback instanceof ScramCredentialCallback user) {
                user.scramCredential(credential(question.get("users").get(name)));
            }
        }
    }

    private static ObjectNode taken(JsonNode token) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            answer.put("answer", HEX.formatHex(server.evaluateResponse(bytes(token))));
            answer.put("complete", server.isComplete());
            if (server.isComplete()) {
                answer.put("id", server.getAuthorizationID());
                answer.put("by_token", (String) server.getNegotiatedProperty("tokenauth"));
            }
            return answer;
        } catch (SaslAuthenticationException told) {
            return answer.put("refused", "told").put("text", told.getMessage());
        } catch (SaslException general) {
            return answer.put("refused", "general");
        } catch (RuntimeException closed) {
            return answer.put("refused", "closed");
        }
    }

    private static ScramCredential credential(JsonNode node) {
        if (node == null) {
            return null;
        }
        return new ScramCredential(
                bytes(node.get("salt")),
                bytes(node.get("stored_key")),
                bytes(node.get("server_key")),
                node.get("iterations").asInt());
    }

    private static byte[] bytes(JsonNode node) {
        return HEX.parseHex(node.asText());
    }
}
