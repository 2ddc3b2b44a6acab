import java.io.BufferedReader;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.ClusterResource;
import org.apache.kafka.common.Endpoint;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;
import org.apache.kafka.server.authorizer.AuthorizerServerInfo;

/**
 * Times Kafka's StandardAuthorizer in its own JVM.
 *
 *     java AuthorizerBench ACLS QUESTIONS ROUNDS ROUND_MS
 *
 * Both files have a line for each item and tabs between its fields: type, name, pattern type, principal, host,
 * operation, permission of an ACL (enums as codes); principal, host, operation, topic of a question. A round asks the
 * questions in their order until its time is over. The first rounds are for the compiler and do not count.
 * Prints a line of JSON; "verdicts" has a 1 for each question that was allowed, for as many as one round reached.
 */
public final class AuthorizerBench {
    private static final int WARM_ROUNDS = 3;

    private AuthorizerBench() {}

    public static void main(String[] args) throws Exception {
        Map<Uuid, StandardAcl> snapshot = new LinkedHashMap<>();
        try (BufferedReader lines = Files.newBufferedReader(Path.of(args[0]))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                snapshot.put(new Uuid(1, snapshot.size()), acl(line.split("\t")));
            }
        }
        List<Asked> asked = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(args[1]))) {
            asked.add(new Asked(line.split("\t")));
        }
        int rounds = Integer.parseInt(args[2]);
        long roundNs = Long.parseLong(args[3]) * 1_000_000L;

        StandardAuthorizer authorizer = new StandardAuthorizer();
        authorizer.configure(new HashMap<>());
        authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), new LinkedHashMap<>()));
        authorizer.start(new Server());
        long begun = System.nanoTime();
        authorizer.loadSnapshot(snapshot);
        authorizer.completeInitialLoad();
        double loadMs = (System.nanoTime() - begun) / 1e6;

        double[] decisions = new double[rounds];
        double[] byType = new double[rounds];
        for (int round = -WARM_ROUNDS; round < rounds; round++) {
            double us = decided(authorizer, asked, roundNs);
            double typeUs = decidedByType(authorizer, asked, roundNs / 2);
            if (round >= 0) {
                decisions[round] = us;
                byType[round] = typeUs;
            }
        }
        snapshot = null;
        System.gc();
        long heap = Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
        System.out.printf(
                "{\"load_ms\": %.1f, \"authorize_us\": %s, \"by_type_us\": %s, \"heap_mb\": %.1f, \"verdicts\": \"%s\"}%n",
                loadMs, Arrays.toString(decisions), Arrays.toString(byType), heap / 1048576.0,
                verdicts(authorizer, asked, roundNs));
    }

    private static double decided(StandardAuthorizer authorizer, List<Asked> asked, long ns) {
        long begun = System.nanoTime();
        long count = 0;
        while (System.nanoTime() - begun < ns) {
            Asked each = asked.get((int) (count % asked.size()));
            authorizer.authorize(each, each.actions);
            count++;
        }
        return (System.nanoTime() - begun) / 1e3 / count;
    }

    private static double decidedByType(StandardAuthorizer authorizer, List<Asked> asked, long ns) {
        long begun = System.nanoTime();
        long count = 0;
        while (System.nanoTime() - begun < ns) {
            Asked each = asked.get((int) (count % asked.size()));
            authorizer.authorizeByResourceType(each, AclOperation.WRITE, ResourceType.TOPIC);
            count++;
        }
        return (System.nanoTime() - begun) / 1e3 / count;
    }

    private static String verdicts(StandardAuthorizer authorizer, List<Asked> asked, long ns) {
        StringBuilder text = new StringBuilder();
        long begun = System.nanoTime();
        for (Asked each : asked) {
            if (System.nanoTime() - begun > ns) {
                break;
            }
            text.append(authorizer.authorize(each, each.actions).get(0) == AuthorizationResult.ALLOWED ? '1' : '0');
        }
        return text.toString();
    }

    private static StandardAcl acl(String[] fields) {
        return new StandardAcl(
                ResourceType.fromCode(Byte.parseByte(fields[0])),
                fields[1],
                PatternType.fromCode(Byte.parseByte(fields[2])),
                fields[3],
                fields[4],
                AclOperation.fromCode(Byte.parseByte(fields[5])),
                AclPermissionType.fromCode(Byte.parseByte(fields[6])));
    }

    /** Who asks, from where, and what; made before the clock runs. */
    private static final class Asked implements AuthorizableRequestContext {
        private final KafkaPrincipal principal;
        private final InetAddress address;
        private final List<Action> actions;

        Asked(String[] fields) throws Exception {
            int colon = fields[0].indexOf(':');
            this.principal = new KafkaPrincipal(fields[0].substring(0, colon), fields[0].substring(colon + 1));
            this.address = InetAddress.getByName(fields[1]);
            AclOperation operation = AclOperation.fromCode(Byte.parseByte(fields[2]));
            ResourcePattern resource = new ResourcePattern(ResourceType.TOPIC, fields[3], PatternType.LITERAL);
            this.actions = List.of(new Action(operation, resource, 1, true, false));
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
            return 3;
        }

        @Override
        public int requestVersion() {
            return 12;
        }

        @Override
        public String clientId() {
            return "bench";
        }

        @Override
        public int correlationId() {
            return 1;
        }
    }

    /** A server without listeners. */
    private static final class Server implements AuthorizerServerInfo {
        @Override
        public ClusterResource clusterResource() {
            return new ClusterResource("bench");
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
