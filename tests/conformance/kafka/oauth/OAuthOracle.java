import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.AppConfigurationEntry.LoginModuleControlFlag;
import javax.security.sasl.SaslException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.auth.SaslExtensionsCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.internals.OAuthBearerClientInitialResponse;
import org.apache.kafka.common.security.oauthbearer.internals.OAuthBearerSaslServer;
import org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler;
import org.apache.kafka.common.utils.Time;

/**
 * Answers what Kafka's client sends, and what Kafka's server says, with OAUTHBEARER.
 *
 * <p>Each line of standard input is a JSON object, answered by one line:
 *
 * <pre>
 * {"login": {option: text}, "now": ms}                         -> {"message": hex} or {"refused": text}
 * {"unsecured": {option: text}, "now": ms, "messages": [hex]}  -> {"steps": [step]}
 * {"signed": {key: value}, "messages": [hex]}                  -> {"steps": [step], "from": ms, "to": ms}
 * </pre>
 *
 * A step is {"challenge": text}, {"principal": text, "expiry": ms}, {"refused": text} where the client
 * is told the text, {"sasl": text} where it gets the general text, or {"broken": text} where the
 * connection closes. "from" and "to" are the clock of this machine, which signed tokens are checked by.
 */
public final class OAuthOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String MECHANISM = "OAUTHBEARER";
    private static final Map<String, AuthenticateCallbackHandler> SIGNED = new HashMap<>();

    private OAuthOracle() {}

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode answer = answer(JSON.readTree(line));
            System.out.write((JSON.writeValueAsString(answer) + "\n").getBytes(StandardCharsets.UTF_8));
            System.out.flush();
        }
    }

    private static ObjectNode answer(JsonNode asked) throws Exception {
        ObjectNode answer = JSON.createObjectNode();
        if (asked.has("login")) {
            try {
                return answer.put("message", HexFormat.of().formatHex(login(asked)));
            } catch (Exception refused) {
                return answer.put("refused", String.valueOf(refused.getMessage()));
            }
        }
        boolean signed = asked.has("signed");
        answer.put("from", System.currentTimeMillis());
        AuthenticateCallbackHandler handler = signed ? signed(asked.get("signed")) : unsecured(asked);
        OAuthBearerSaslServer server = new OAuthBearerSaslServer(handler);
        ArrayNode steps = answer.putArray("steps");
        for (JsonNode message : asked.get("messages")) {
            steps.add(step(server, HexFormat.of().parseHex(message.asText())));
        }
        return answer.put("to", System.currentTimeMillis());
    }

    private static ObjectNode step(OAuthBearerSaslServer server, byte[] message) {
        ObjectNode step = JSON.createObjectNode();
        try {
            byte[] reply = server.evaluateResponse(message);
            if (!server.isComplete()) {
                return step.put("challenge", new String(reply, StandardCharsets.UTF_8));
            }
            step.put("principal", server.getAuthorizationID());
            return step.put("expiry", (Long) server.getNegotiatedProperty("CREDENTIAL.LIFETIME.MS"));
        } catch (SaslAuthenticationException refused) {
            return step.put("refused", refused.getMessage());
        } catch (SaslException refused) {
            return step.put("sasl", refused.getMessage());
        } catch (RuntimeException | StackOverflowError broken) {
            return step.put("broken", String.valueOf(broken));
        }
    }

    private static byte[] login(JsonNode asked) throws Exception {
        OAuthBearerUnsecuredLoginCallbackHandler handler = new OAuthBearerUnsecuredLoginCallbackHandler();
        stopClock(handler, asked.get("now").asLong());
        handler.configure(Map.of(), MECHANISM, module(asked.get("login")));
        OAuthBearerTokenCallback token = new OAuthBearerTokenCallback();
        SaslExtensionsCallback extensions = new SaslExtensionsCallback();
        handler.handle(new Callback[] {token, extensions});
        return new OAuthBearerClientInitialResponse(token.token().value(), extensions.extensions()).toBytes();
    }

    private static AuthenticateCallbackHandler unsecured(JsonNode asked) throws Exception {
        OAuthBearerUnsecuredValidatorCallbackHandler handler = new OAuthBearerUnsecuredValidatorCallbackHandler();
        stopClock(handler, asked.get("now").asLong());
        handler.configure(Map.of(), MECHANISM, module(asked.get("unsecured")));
        return handler;
    }

    private static AuthenticateCallbackHandler signed(JsonNode given) {
        return SIGNED.computeIfAbsent(given.toString(), text -> {
            Map<String, Object> configs = new HashMap<>();
            given.fields().forEachRemaining(each -> configs.put(each.getKey(), value(each.getValue())));
            OAuthBearerValidatorCallbackHandler handler = new OAuthBearerValidatorCallbackHandler();
            handler.configure(configs, MECHANISM, module(JSON.createObjectNode()));
            return handler;
        });
    }

    private static Object value(JsonNode value) {
        if (value.isArray()) {
            return JSON.convertValue(value, List.class);
        }
        return value.isInt() ? (Object) value.asInt() : value.asText();
    }

    private static List<AppConfigurationEntry> module(JsonNode options) {
        Map<String, String> given = new HashMap<>();
        options.fields().forEachRemaining(each -> given.put(each.getKey(), each.getValue().asText()));
        return List.of(new AppConfigurationEntry("OAuthBearerLoginModule", LoginModuleControlFlag.REQUIRED, given));
    }

    private static void stopClock(Object handler, long now) throws Exception {
        Object clock = Proxy.newProxyInstance(Time.class.getClassLoader(), new Class<?>[] {Time.class},
            (proxy, method, arguments) -> {
                if (method.getName().equals("milliseconds")) {
                    return now;
                }
                throw new UnsupportedOperationException(method.getName());
            });
        Method time = handler.getClass().getDeclaredMethod("time", Time.class);
        time.setAccessible(true);
        time.invoke(handler, clock);
    }
}
