package kafka.server;

import com.fasterxml.jackson.databind.JsonNode;
import doorkeeper.conformance.BrokerStandIn;
import doorkeeper.conformance.ServerLauncher;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import kafka.api.IntegrationTestHarness;
import kafka.integration.KafkaServerTestHarness;
import kafka.utils.Logging;
import kafka.utils.TestInfoUtils;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.GroupProtocol;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.common.MetadataVersion;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.params.provider.Arguments;
import scala.Option;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Replaces Kafka's class of this name, which starts a controller and brokers in this JVM: each broker that a test
 * creates is a server in a process of its own, which stands for a controller too.
 */
public abstract class QuorumTestHarness implements Logging {
    private static final String CONTROLLER_PREFIX = "CONTROLLER_";

    private final Map<Integer, Map<String, Integer>> ports = new HashMap<>();
    private final Map<Integer, Map<String, Integer>> lastPorts = new HashMap<>();
    private final List<KafkaConfig> configs = new ArrayList<>();
    private TestInfo testInfo;
    private int cluster = -1;
    private String logIdent;

    public static Stream<Arguments> getTestGroupProtocolParametersAll() {
        return Stream.of(Arguments.of("classic"), Arguments.of("consumer"));
    }

    public static Stream<Arguments> getTestGroupProtocolParametersClassicGroupProtocolOnly() {
        return Stream.of(Arguments.of("classic"));
    }

    public static Stream<Arguments> getTestGroupProtocolParametersConsumerGroupProtocolOnly() {
        return Stream.of(Arguments.of("consumer"));
    }

    @Override
    public String logIdent() {
        return logIdent;
    }

    @Override
    public void logIdent_$eq(String text) {
        logIdent = text;
    }

    public SecurityProtocol controllerListenerSecurityProtocol() {
        return SecurityProtocol.PLAINTEXT;
    }

    public Seq<Properties> kraftControllerConfigs(TestInfo info) {
        return CollectionConverters.asScala(List.of(new Properties())).toSeq();
    }

    public MetadataVersion metadataVersion() {
        return MetadataVersion.latestTesting();
    }

    public Option<GroupProtocol> maybeGroupProtocolSpecified() {
        return TestInfoUtils.maybeGroupProtocolSpecified(testInfo);
    }

    public GroupProtocol groupProtocolFromTestParameters() {
        return maybeGroupProtocolSpecified().get();
    }

    public Seq<SecurityProtocol> extraControllerSecurityProtocols() {
        return CollectionConverters.asScala(List.<SecurityProtocol>of()).toSeq();
    }

    public ControllerServer controllerServer() {
        return controllerServers().head();
    }

    private KafkaConfig controllerConfig(KafkaConfig broker) {
        List<String> names = CollectionConverters.asJava(extraControllerSecurityProtocols()).stream()
                .map(each -> each.name)
                .toList();
        if (names.isEmpty()) {
            return broker;
        }
        Map<String, Object> properties = new HashMap<>(broker.originals());
        properties.put("process.roles", "controller");
        properties.put("controller.listener.names", String.join(",", names));
        properties.put("listeners", names.stream().map(each -> each + "://localhost:0").collect(Collectors.joining(",")));
        properties.put("controller.quorum.voters", broker.nodeId() + "@localhost:0");
        properties.remove("advertised.listeners");
        properties.remove("inter.broker.listener.name");
        return new KafkaConfig(properties, false);
    }

    public Seq<ControllerServer> controllerServers() {
        // Each server stands for a controller too.
        List<ControllerServer> all = configs.stream()
                .map(each -> BrokerStandIn.controller(
                        controllerConfig(each), node(each.nodeId(), CONTROLLER_PREFIX), this::admin))
                .toList();
        return CollectionConverters.asScala(all).toSeq();
    }

    @BeforeEach
    public void setUp(TestInfo info) {
        testInfo = info;
    }

    @AfterEach
    public void tearDown() {
        ports.clear();
        configs.clear();
        if (cluster >= 0) {
            ServerLauncher.get().close(cluster);
            cluster = -1;
        }
        System.clearProperty("java.security.auth.login.config");
    }

    public void shutdownKRaftController() {
        // The controller is part of each server.
    }

    public KafkaBroker createBroker(KafkaConfig config, Time time, boolean startup, Option<String> threadNamePrefix) {
        if (cluster < 0) {
            int nodes = this instanceof KafkaServerTestHarness
                    ? ((KafkaServerTestHarness) this).configs().length()
                    : 1;
            cluster = ServerLauncher.get().create(nodes);
        }
        int id = config.nodeId();
        configs.add(config);
        ServerLauncher.get().add(cluster, id, properties(config));
        KafkaBroker broker = BrokerStandIn.broker(config, node(id, ""), this::admin, this::adminOfTest);
        if (startup) {
            broker.startup();
        }
        return broker;
    }

    public Time createBroker$default$2() {
        return Time.SYSTEM;
    }

    public boolean createBroker$default$3() {
        return true;
    }

    public Option<String> createBroker$default$4() {
        return Option.empty();
    }

    private Map<String, String> properties(KafkaConfig config) {
        Map<String, String> properties = new HashMap<>();
        config.originals().forEach((key, value) -> {
            if (value != null) {
                properties.put(key, text(value));
            }
        });
        String jaas = System.getProperty("java.security.auth.login.config");
        if (jaas != null && !jaas.isEmpty()) {
            properties.put("doorkeeper.jaas.file", jaas);
        }
        String kerberos = System.getProperty("java.security.krb5.conf");
        if (kerberos != null && !kerberos.isEmpty()) {
            properties.put("java.security.krb5.conf", kerberos);
        }
        for (String kind : List.of("ssl.keystore", "ssl.truststore")) {
            properties.computeIfPresent(
                    kind + ".location", (key, file) -> KeyStores.asPkcs12(file, properties.get(kind + ".password")));
            properties.remove(kind + ".type");
        }
        // It names a listener that brokers do not have, and so does the list of protocols.
        properties.remove("controller.listener.names");
        properties.remove("process.roles");
        addControllerListeners(properties);
        if (kraftControllerConfigs(testInfo).forall(each -> !each.containsKey("authorizer.class.name"))) {
            properties.replace(
                    "authorizer.class.name", StandardAuthorizer.class.getName(), "StandardAuthorizer of brokers only");
        }
        return properties;
    }

    private static String text(Object value) {
        if (value instanceof Collection) {
            return ((Collection<?>) value).stream().map(Object::toString).collect(Collectors.joining(","));
        }
        return value instanceof Password ? ((Password) value).value() : value.toString();
    }

    /** Listeners of a controller have the names of those of brokers, which one server cannot have twice. */
    private void addControllerListeners(Map<String, String> properties) {
        List<String> names = new ArrayList<>();
        for (SecurityProtocol protocol : CollectionConverters.asJava(extraControllerSecurityProtocols())) {
            String name = CONTROLLER_PREFIX + protocol.name;
            names.add(name);
            properties.merge("listeners", name + "://localhost:0", (all, one) -> all + "," + one);
            properties.merge("listener.security.protocol.map", name + ":" + protocol.name, (all, one) -> all + "," + one);
        }
        if (!names.isEmpty()) {
            properties.put("controller.listener.names", String.join(",", names));
        }
    }

    private BrokerStandIn.Node node(int id, String prefix) {
        return new BrokerStandIn.Node() {
            @Override
            public void start() {
                JsonNode reply = ServerLauncher.get().start(cluster, id);
                Map<String, Integer> bound = new HashMap<>();
                reply.fields().forEachRemaining(field -> bound.put(field.getKey(), field.getValue().intValue()));
                ports.put(id, bound);
                lastPorts.put(id, bound);
            }

            @Override
            public void stop() {
                if (ports.remove(id) != null) {
                    ServerLauncher.get().stop(cluster, id);
                }
            }

            @Override
            public boolean isRunning() {
                return ports.containsKey(id);
            }

            @Override
            public int port(String listener) {
                Map<String, Integer> bound = lastPorts.get(id);
                return bound.containsKey(prefix + listener) ? bound.get(prefix + listener) : bound.get(listener);
            }
        };
    }

    private Admin admin() {
        Map<String, Integer> bound = ports.values().iterator().next();
        return Admin.create(Map.of("bootstrap.servers", "localhost:" + bound.get(ServerLauncher.LISTENER)));
    }

    /** A client that logs in as this test does; tokens are shown after a login only. */
    private Admin adminOfTest() {
        IntegrationTestHarness harness = (IntegrationTestHarness) this;
        return harness.createAdminClient(harness.listenerName(), new Properties());
    }
}
