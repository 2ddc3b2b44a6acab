package doorkeeper.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import kafka.server.ControllerServer;
import kafka.server.KafkaBroker;
import kafka.server.KafkaConfig;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.test.ClusterInstance;
import org.apache.kafka.common.test.JaasUtils;
import org.apache.kafka.test.TestUtils;
import org.apache.kafka.common.test.api.ClusterConfig;
import org.apache.kafka.common.test.api.Type;
import org.apache.kafka.server.authorizer.Authorizer;
import org.apache.kafka.server.fault.FaultHandlerException;

/** The cluster of one test: as many servers as it wants brokers, each of which also has the controller's listener. */
public final class ServerCluster implements ClusterInstance {
    private static final String PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required";

    private final ClusterConfig config;
    private final boolean isCombined;
    private final Map<Integer, Map<String, Integer>> ports = new TreeMap<>();
    private final Map<Integer, Map<String, Integer>> lastPorts = new TreeMap<>();
    private final Map<Integer, KafkaBroker> standIns = new LinkedHashMap<>();
    private final Map<Integer, ControllerServer> controllers = new LinkedHashMap<>();
    private int cluster = -1;
    private boolean started;
    private boolean stopped;

    public ServerCluster(ClusterConfig config, boolean isCombined) {
        this.config = config;
        this.isCombined = isCombined;
    }

    @Override
    public void start() {
        if (started) {
            return;
        }
        started = true;
        cluster = ServerLauncher.get().create(config.numBrokers());
        try {
            for (int id = 0; id < config.numBrokers(); id++) {
                ServerLauncher.get().add(cluster, id, properties(id));
                startBroker(id);
                KafkaConfig properties = new KafkaConfig(brokerConfig(id), false);
                standIns.put(id, BrokerStandIn.broker(properties, nodeOf(id), this::harnessAdmin, this::admin));
                if (isController(id)) {
                    controllers.put(id, BrokerStandIn.controller(properties, nodeOf(id), this::harnessAdmin));
                }
            }
        } catch (RuntimeException error) {
            // JUnit calls no callback after a test that could not begin.
            stop();
            throw error;
        }
    }

    private Map<String, String> properties(int id) {
        String client = config.brokerListenerName().value();
        String controller = config.controllerListenerName().value();
        Map<String, String> properties = new HashMap<>();
        properties.put("node.id", Integer.toString(id));
        properties.put("listeners", client + "://localhost:0");
        if (isController(id)) {
            properties.put("listeners", client + "://localhost:0," + controller + "://localhost:0");
            properties.put("controller.listener.names", controller);
        }
        properties.put("listener.security.protocol.map",
                client + ":" + config.brokerSecurityProtocol() + "," + controller + ":" + config.controllerSecurityProtocol());
        if (config.brokerSecurityProtocol() == SecurityProtocol.SASL_PLAINTEXT) {
            properties.put("sasl.enabled.mechanisms", "PLAIN");
            String users = PLAIN + " username=\"plain-admin\" password=\"plain-admin-secret\""
                    + " user_plain-admin=\"plain-admin-secret\" user_plain-user1=\"plain-user1-secret\";";
            for (String listener : List.of(client, controller)) {
                properties.put("listener.name." + listener.toLowerCase() + ".plain.sasl.jaas.config", users);
            }
            properties.put("super.users", "User:" + JaasUtils.KAFKA_PLAIN_ADMIN);
            properties.put("allow.everyone.if.no.acl.found", "false");
            properties.put("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer");
        }
        properties.putAll(config.serverProperties());
        properties.putAll(config.perServerOverrideProperties().getOrDefault(id, Map.of()));
        return properties;
    }

    private Map<String, String> brokerConfig(int id) {
        Map<String, String> whole = new HashMap<>(properties(id));
        whole.put("process.roles", isController(id) ? "broker,controller" : "broker");
        whole.put("controller.quorum.bootstrap.servers", "localhost:9093");
        whole.put("inter.broker.listener.name", config.brokerListenerName().value());
        whole.put("controller.listener.names", config.controllerListenerName().value());
        whole.putIfAbsent("sasl.mechanism.inter.broker.protocol", "PLAIN");
        whole.putIfAbsent("sasl.mechanism.controller.protocol", "PLAIN");
        return whole;
    }

    private BrokerStandIn.Node nodeOf(int id) {
        return new BrokerStandIn.Node() {
            @Override
            public void start() {
                startBroker(id);
            }

            @Override
            public void stop() {
                shutdownBroker(id);
            }

            @Override
            public boolean isRunning() {
                return ports.containsKey(id);
            }

            @Override
            public int port(String listener) {
                return lastPorts.get(id).get(listener);
            }
        };
    }

    @Override
    public void startBroker(int id) {
        JsonNode reply = ServerLauncher.get().start(cluster, id);
        Map<String, Integer> bound = new HashMap<>();
        reply.fields().forEachRemaining(field -> bound.put(field.getKey(), field.getValue().intValue()));
        ports.put(id, bound);
        lastPorts.put(id, bound);
    }

    @Override
    public void shutdownBroker(int id) {
        if (ports.remove(id) != null) {
            ServerLauncher.get().stop(cluster, id);
        }
    }

    @Override
    public void stop() {
        if (started && !stopped) {
            stopped = true;
            ports.clear();
            ServerLauncher.get().close(cluster);
        }
    }

    private boolean isController(int id) {
        return id < config.numControllers();
    }

    private String addresses(ListenerName listener) {
        // Those of stopped nodes too, as a cluster of Kafka's tests has them.
        return lastPorts.values().stream()
                .filter(bound -> bound.containsKey(listener.value()))
                .map(bound -> "localhost:" + bound.get(listener.value()))
                .collect(Collectors.joining(","));
    }

    @Override
    public String bootstrapServers() {
        return addresses(clientListener());
    }

    @Override
    public String bootstrapControllers() {
        return addresses(controllerListenerName());
    }

    @Override
    public Type type() {
        return isCombined ? Type.CO_KRAFT : Type.KRAFT;
    }

    @Override
    public Map<Integer, KafkaBroker> brokers() {
        return standIns;
    }

    @Override
    public Map<Integer, ControllerServer> controllers() {
        return controllers;
    }

    @Override
    public ClusterConfig config() {
        return config;
    }

    @Override
    public Set<Integer> controllerIds() {
        return controllers.keySet();
    }

    @Override
    public ListenerName clientListener() {
        return config.brokerListenerName();
    }

    @Override
    public ListenerName controllerListenerName() {
        return config.controllerListenerName();
    }

    @Override
    public String clusterId() {
        try (Admin admin = harnessAdmin()) {
            return admin.describeCluster().clusterId().get();
        } catch (ExecutionException | InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    public Optional<FaultHandlerException> firstFatalException() {
        return Optional.empty();
    }

    @Override
    public Optional<FaultHandlerException> firstNonFatalException() {
        return Optional.empty();
    }

    @Override
    public boolean started() {
        return started;
    }

    @Override
    public boolean stopped() {
        return stopped;
    }

    @Override
    public void waitForReadyBrokers() {
        // A server listens when it is started.
    }

    @Override
    public List<Authorizer> authorizers() {
        return List.of(BrokerStandIn.authorizer(this::harnessAdmin));
    }

    @Override
    public void ensureConsistentMetadata(Collection<KafkaBroker> brokers, Collection<ControllerServer> controllers) {
        // Each wait below asks every node.
    }

    @Override
    public void ensureConsistentMetadata() {
        // As above.
    }

    private static Admin harnessAdmin(Map<String, Integer> bound) {
        return Admin.create(Map.of("bootstrap.servers", "localhost:" + bound.get(ServerLauncher.LISTENER)));
    }

    private Admin harnessAdmin() {
        return harnessAdmin(ports.values().iterator().next());
    }

    private Set<Admin> adminOfEachNode() {
        return ports.values().stream().map(ServerCluster::harnessAdmin).collect(Collectors.toSet());
    }

    private interface Question {
        boolean holds(Admin admin) throws ExecutionException, InterruptedException;
    }

    private void waitForEachNode(Question question, String text) throws InterruptedException {
        Set<Admin> admins = adminOfEachNode();
        try {
            for (Admin admin : admins) {
                TestUtils.waitForCondition(() -> {
                    try {
                        return question.holds(admin);
                    } catch (ExecutionException | InterruptedException error) {
                        throw new IllegalStateException(error);
                    }
                }, text);
            }
        } finally {
            admins.forEach(Admin::close);
        }
    }

    private static int partitions(Admin admin, String topic) throws ExecutionException, InterruptedException {
        try {
            TopicDescription found = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
            return found.partitions().size();
        } catch (ExecutionException error) {
            if (error.getCause() instanceof UnknownTopicOrPartitionException) {
                return 0;
            }
            throw error;
        }
    }

    @Override
    public void waitTopicCreation(String topic, int partitions) throws InterruptedException {
        if (partitions <= 0) {
            throw new IllegalArgumentException("Partition count must be > 0, but was " + partitions);
        }
        waitForEachNode(admin -> partitions(admin, topic) == partitions, topic + " not created");
    }

    @Override
    public void waitTopicDeletion(String topic) throws InterruptedException {
        waitForEachNode(admin -> partitions(admin, topic) == 0, topic + " not deleted");
    }

    @Override
    public void waitAcls(AclBindingFilter filter, Collection<AccessControlEntry> entries) throws InterruptedException {
        Set<AccessControlEntry> wanted = new HashSet<>(entries);
        waitForEachNode(
                admin -> admin.describeAcls(filter).values().get().stream()
                        .map(AclBinding::entry)
                        .collect(Collectors.toSet())
                        .equals(wanted),
                "ACLs not as expected: " + wanted);
    }
}
