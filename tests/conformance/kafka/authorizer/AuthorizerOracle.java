import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.ClusterResource;
import org.apache.kafka.common.Endpoint;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizerServerInfo;

/**
 * Answers what Kafka's StandardAuthorizer decides in a world of ACLs, and what it writes about it.
 *
 * <p>Each line of standard input is a JSON object, answered by one line:
 *
 * <pre>
 * {"configs": {key: text}, "acls": [acl], "added": [acl], "removed": [place in acls],
 *  "questions": [[principal type, name, address, operation, resource type, name, pattern type, api key,
 *                 reference count, log if allowed, log if denied]],
 *  "by_type":   [[principal type, name, address, operation, resource type, api key]],
 *  "filters":   [[resource type, name, pattern type, principal, host, operation, permission]]}
 *  -> {"count": n, "questions": [answer], "by_type": [answer], "filters": [[acl]]} or {"refused": text}
 * </pre>
 *
 * An ACL is [resource type, name, pattern type, principal, host, operation, permission]; enums are wire codes. An
 * answer is [ALLOWED or DENIED, host as Java prints it, [what was logged, after its level and a space]], or
 * {"refused": text}. "acls" are loaded as a snapshot, then "added" and "removed" change it one by one.
 */
public final class AuthorizerOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ByteArrayOutputStream LOGGED = new ByteArrayOutputStream();

    private AuthorizerOracle() {}

    public static void main(String[] args) throws Exception {
        // The simple logger writes to standard error; the settings that start this JVM say in which form.
        System.setErr(new PrintStream(LOGGED, true, StandardCharsets.UTF_8));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode answer = answer(JSON.readTree(line));
            System.out.write((JSON.writeValueAsString(answer) + "\n").getBytes(StandardCharsets.UTF_8));
            System.out.flush();
        }
    }

    private static ObjectNode answer(JsonNode world) throws Exception {
        ObjectNode answer = JSON.createObjectNode();
        try (StandardAuthorizer authorizer = started(world)) {
            answer.put("count", authorizer.aclCount());
            ArrayNode questions = answer.putArray("questions");
            for (JsonNode question : world.get("questions")) {
                questions.add(decision(authorizer, question));
            }
            ArrayNode byType = answer.putArray("by_type");
            for (JsonNode question : world.get("by_type")) {
                byType.add(byType(authorizer, question));
            }
            ArrayNode filters = answer.putArray("filters");
            for (JsonNode filter : world.get("filters")) {
                ArrayNode found = filters.addArray();
                authorizer.acls(filter(filter)).forEach(binding -> found.add(acl(binding)));
            }
            return answer;
        } catch (RuntimeException e) {
            return JSON.createObjectNode().put("refused", e.getMessage());
        }
    }

    private static StandardAuthorizer started(JsonNode world) throws ReflectiveOperationException {
        StandardAuthorizer authorizer = new StandardAuthorizer();
        Map<String, String> configs = new HashMap<>();
        world.get("configs").properties().forEach(entry -> configs.put(entry.getKey(), entry.getValue().asText()));
        authorizer.configure(configs);
        giveMetrics(authorizer);
        authorizer.start(new Server());
        Map<Uuid, StandardAcl> snapshot = new LinkedHashMap<>();
        for (JsonNode acl : world.get("acls")) {
            snapshot.put(new Uuid(1, snapshot.size()), acl(acl));
        }
        authorizer.loadSnapshot(snapshot);
        authorizer.completeInitialLoad();
        int number = 0;
        for (JsonNode acl : world.get("added")) {
            authorizer.addAcl(new Uuid(2, number++), acl(acl));
        }
        for (JsonNode place : world.get("removed")) {
            authorizer.removeAcl(new Uuid(1, place.asInt()));
        }
        return authorizer;
    }

    /** Give the authorizer what it counts with; releases before 4.2 have none, later ones fail without it. */
    private static void giveMetrics(StandardAuthorizer authorizer) throws ReflectiveOperationException {
        Class<?> kind;
        try {
            kind = Class.forName("org.apache.kafka.common.metrics.internals.PluginMetricsImpl");
        } catch (ClassNotFoundException e) {
            return;
        }
        Object metrics = kind.getConstructor(Metrics.class, Map.class).newInstance(new Metrics(), new LinkedHashMap<>());
        Class<?> wanted = Class.forName("org.apache.kafka.common.metrics.PluginMetrics");
        StandardAuthorizer.class.getMethod("withPluginMetrics", wanted).invoke(authorizer, metrics);
    }

    private static JsonNode decision(StandardAuthorizer authorizer, JsonNode question) throws Exception {
        Asked context = new Asked(question, question.get(7).asInt());
        AclOperation operation = AclOperation.fromCode((byte) question.get(3).asInt());
        ResourcePattern resource = new ResourcePattern(
                ResourceType.fromCode((byte) question.get(4).asInt()),
                question.get(5).asText(),
                PatternType.fromCode((byte) question.get(6).asInt()));
        Action action = new Action(
                operation,
                resource,
                question.get(8).asInt(),
                question.get(9).asBoolean(),
                question.get(10).asBoolean());
        LOGGED.reset();
        try {
            return told(authorizer.authorize(context, List.of(action)).get(0).name(), context);
        } catch (RuntimeException e) {
            return JSON.createObjectNode().put("refused", e.getMessage());
        }
    }

    private static JsonNode byType(StandardAuthorizer authorizer, JsonNode question) throws Exception {
        Asked context = new Asked(question, question.get(5).asInt());
        AclOperation operation = AclOperation.fromCode((byte) question.get(3).asInt());
        ResourceType type = ResourceType.fromCode((byte) question.get(4).asInt());
        LOGGED.reset();
        try {
            return told(authorizer.authorizeByResourceType(context, operation, type).name(), context);
        } catch (RuntimeException e) {
            return JSON.createObjectNode().put("refused", e.getMessage());
        }
    }

    private static JsonNode told(String result, Asked context) {
        return JSON.createArrayNode()
                .add(result)
                .add(context.clientAddress().getHostAddress())
                .add(LOGGED.toString(StandardCharsets.UTF_8));
    }

    private static StandardAcl acl(JsonNode acl) {
        return new StandardAcl(
                ResourceType.fromCode((byte) acl.get(0).asInt()),
                acl.get(1).asText(),
                PatternType.fromCode((byte) acl.get(2).asInt()),
                acl.get(3).asText(),
                acl.get(4).asText(),
                AclOperation.fromCode((byte) acl.get(5).asInt()),
                AclPermissionType.fromCode((byte) acl.get(6).asInt()));
    }

    private static ArrayNode acl(AclBinding binding) {
        return JSON.createArrayNode()
                .add(binding.pattern().resourceType().code())
                .add(binding.pattern().name())
                .add(binding.pattern().patternType().code())
                .add(binding.entry().principal())
                .add(binding.entry().host())
                .add(binding.entry().operation().code())
                .add(binding.entry().permissionType().code());
    }

    private static AclBindingFilter filter(JsonNode filter) {
        return new AclBindingFilter(
                new ResourcePatternFilter(
                        ResourceType.fromCode((byte) filter.get(0).asInt()),
                        filter.get(1).textValue(),
                        PatternType.fromCode((byte) filter.get(2).asInt())),
                new AccessControlEntryFilter(
                        filter.get(3).textValue(),
                        filter.get(4).textValue(),
                        AclOperation.fromCode((byte) filter.get(5).asInt()),
                        AclPermissionType.fromCode((byte) filter.get(6).asInt())));
    }

    /** Who asks, and from where. */
    private static final class Asked implements AuthorizableRequestContext {
        private final KafkaPrincipal principal;
        private final InetAddress address;
        private final int apiKey;

        Asked(JsonNode question, int apiKey) throws Exception {
            this.principal = new KafkaPrincipal(question.get(0).asText(), question.get(1).asText());
            // All addresses are numbers, so nobody is asked for a name.
            this.address = InetAddress.getByName(question.get(2).asText());
            this.apiKey = apiKey;
        }

        @Override
        public String listenerName() {
            return "PLAINTEXT";
        }

        @Override
        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.PLAINTEXT;
        }

        @Override
        public KafkaPrincipal principal() {
            return principal;
        }

        @Override
        public InetAddress clientAddress() {
            return address;
        }

        @Override
        public int requestType() {
            return apiKey;
        }

        @Override
        public int requestVersion() {
            return 3;
        }

        @Override
        public String clientId() {
            return "client-1";
        }

        @Override
        public int correlationId() {
            return 7;
        }
    }

    /** A server without listeners. */
    private static final class Server implements AuthorizerServerInfo {
        @Override
        public ClusterResource clusterResource() {
            return new ClusterResource("conformance");
        }

        @Override
        public int brokerId() {
            return 1;
        }

        @Override
        public Collection<Endpoint> endpoints() {
            return new ArrayList<>();
        }

        @Override
        public Endpoint interBrokerEndpoint() {
            return new Endpoint("PLAINTEXT", SecurityProtocol.PLAINTEXT, "localhost", 9092);
        }

        @Override
        public Collection<String> earlyStartListeners() {
            return List.of();
        }
    }
}
