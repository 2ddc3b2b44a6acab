import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;

/**
 * Asks Kafka's own StandardAuthorizer. Reads lines of fields with tabs between them:
 *
 *   new   super.users  allow.everyone.if.no.acl.found
 *   add   type name pattern principal host operation permission
 *   ask   principal host operation type name      answers ALLOWED or DENIED
 *   some  principal host operation type           the same, for authorizeByResourceType
 *
 * Audit lines go to standard output too, each before its answer.
 */
public class AuthorizerOracle {
    record Context(KafkaPrincipal principal, InetAddress clientAddress)
            implements AuthorizableRequestContext {
        public String listenerName() { return "PLAINTEXT"; }
        public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
        public int requestType() { return 3; }
        public int requestVersion() { return 12; }
        public String clientId() { return "oracle"; }
        public int correlationId() { return 1; }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = System.out;
        StandardAuthorizer authorizer = null;
        long id = 0;
        String line;
        while ((line = in.readLine()) != null) {
            String[] f = line.split("\t", -1);
            switch (f[0]) {
                case "new" -> authorizer = started(f[1], f[2]);
                case "add" -> authorizer.addAcl(new Uuid(1, ++id), new StandardAcl(
                    ResourceType.valueOf(f[1]), f[2], PatternType.valueOf(f[3]), f[4], f[5],
                    AclOperation.valueOf(f[6]), AclPermissionType.valueOf(f[7])));
                case "ask" -> out.println(authorizer.authorize(context(f), List.of(new Action(
                    AclOperation.valueOf(f[3]),
                    new ResourcePattern(ResourceType.valueOf(f[4]), f[5], PatternType.LITERAL),
                    1, true, true))).get(0));
                case "some" -> out.println(authorizer.authorizeByResourceType(
                    context(f), AclOperation.valueOf(f[3]), ResourceType.valueOf(f[4])));
                default -> throw new IllegalArgumentException(line);
            }
        }
    }

    static Context context(String[] f) throws Exception {
        int colon = f[1].indexOf(':');
        return new Context(
            new KafkaPrincipal(f[1].substring(0, colon), f[1].substring(colon + 1)),
            InetAddress.getByName(f[2]));
    }

    static StandardAuthorizer started(String superUsers, String allowEveryone) throws Exception {
        StandardAuthorizer authorizer = new StandardAuthorizer();
        authorizer.configure(Map.of(
            "super.users", superUsers,
            "allow.everyone.if.no.acl.found", allowEveryone,
            "node.id", "1"));
        try {
            // From 4.1 on it counts its decisions and fails without somewhere to count them.
            Class<?> metrics = Class.forName("org.apache.kafka.common.metrics.PluginMetrics");
            Object counted =
                Class.forName("org.apache.kafka.common.metrics.internals.PluginMetricsImpl")
                    .getConstructor(Metrics.class, Map.class)
                    .newInstance(new Metrics(), new LinkedHashMap<>());
            StandardAuthorizer.class.getMethod("withPluginMetrics", metrics)
                .invoke(authorizer, counted);
        } catch (ClassNotFoundException | NoSuchMethodException older) {
            // Before 4.1 there is nothing to give it.
        }
        authorizer.completeInitialLoad();
        return authorizer;
    }
}
