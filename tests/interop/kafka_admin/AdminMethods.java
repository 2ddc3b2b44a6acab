import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.*;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.*;
import org.apache.kafka.common.resource.*;

/**
 * Calls every method of Admin, in an order in which later calls see what earlier ones did.
 *
 * <p>Arguments: the server's address. One line for each call, parted by tabs: "call", its name, "works" or "refused",
 * and what its futures gave, in order. The last line, "missing", names the methods that were not called.
 */
public final class AdminMethods {
    private static final long LIMIT_SECONDS = 20;
    private static final String PACKAGE = "org.apache.kafka.clients.admin.";

    private static final Set<String> CALLED = new TreeSet<>();

    private final Admin admin;
    private int barriers;

    private AdminMethods(Admin admin) {
        this.admin = admin;
    }

    private interface Call {
        Object result() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        // What is asked of a partition that is not there is repeated until then.
        properties.put("request.timeout.ms", "3000");
        properties.put("default.api.timeout.ms", "5000");
        try (Admin real = Admin.create(properties)) {
            AdminMethods methods = new AdminMethods(recorded(real));
            methods.topics();
            methods.acls();
            methods.configs();
            methods.cluster();
            methods.partitions();
            methods.groups();
            methods.transactions();
            methods.credentials();
            methods.rest();
        }
        Set<String> missing =
                Arrays.stream(Admin.class.getMethods())
                        .filter(method -> !Modifier.isStatic(method.getModifiers()))
                        .map(Method::getName)
                        .collect(Collectors.toCollection(TreeSet::new));
        missing.removeAll(CALLED);
        System.out.println("missing\t" + String.join(" ", missing));
        System.exit(0);
    }

    private static Admin recorded(Admin real) {
        Object proxy =
                Proxy.newProxyInstance(
                        Admin.class.getClassLoader(),
                        new Class<?>[] {Admin.class},
                        (self, method, values) -> {
                            CALLED.add(method.getName());
                            try {
                                return method.invoke(real, values);
                            } catch (InvocationTargetException e) {
                                throw e.getCause();
                            }
                        });
        return (Admin) proxy;
    }

    private static TopicPartition part(String topic, int index) {
        return new TopicPartition(topic, index);
    }

    private static ConfigResource resource(ConfigResource.Type type, String name) {
        return new ConfigResource(type, name);
    }

    private void topics() throws Exception {
        change("createTopics: two", () -> admin.createTopics(List.of(new NewTopic("a", 2, (short) 1), new NewTopic("b", Map.of(0, List.of(1))))));
        change("createTopics: one that exists", () -> admin.createTopics(List.of(new NewTopic("a", 1, (short) 1))));
        change("createTopics: too many replicas", () -> admin.createTopics(List.of(new NewTopic("c", 1, (short) 2))));
        change("createTopics: an unknown configuration", () -> admin.createTopics(List.of(new NewTopic("c", 1, (short) 1).configs(Map.of("no.such.key", "1")))));
        ask("createTopics: validation only", () -> admin.createTopics(List.of(new NewTopic("c", 1, (short) 1)), new CreateTopicsOptions().validateOnly(true)));
        ask("listTopics", () -> admin.listTopics());
        ask("describeTopics", () -> admin.describeTopics(List.of("a", "b")));
        ask("describeTopics: with authorized operations", () -> admin.describeTopics(List.of("a"), new DescribeTopicsOptions().includeAuthorizedOperations(true)));
        ask("describeTopics: by id", () -> admin.describeTopics(TopicCollection.ofTopicIds(List.of(admin.describeTopics(List.of("a")).allTopicNames().get().get("a").topicId()))).allTopicIds());
        ask("describeTopics: unknown", () -> admin.describeTopics(List.of("none")));
        ask("describeTopics: an unknown id", () -> admin.describeTopics(TopicCollection.ofTopicIds(List.of(new Uuid(1, 2)))));
        change("createPartitions", () -> admin.createPartitions(Map.of("a", NewPartitions.increaseTo(3))));
        change("createPartitions: fewer", () -> admin.createPartitions(Map.of("a", NewPartitions.increaseTo(2))));
        change("createPartitions: of an unknown topic", () -> admin.createPartitions(Map.of("none", NewPartitions.increaseTo(2))));
        change("createPartitions: on an unknown broker", () -> admin.createPartitions(Map.of("a", NewPartitions.increaseTo(4, List.of(List.of(7))))));
        change("deleteTopics: unknown", () -> admin.deleteTopics(List.of("none")));
        change("deleteTopics", () -> admin.deleteTopics(List.of("b")));
    }

    private void acls() throws Exception {
        AclBinding binding =
                new AclBinding(
                        new ResourcePattern(ResourceType.TOPIC, "a", PatternType.LITERAL),
                        new AccessControlEntry("User:alice", "*", AclOperation.READ, AclPermissionType.ALLOW));
        AclBinding wrong =
                new AclBinding(
                        new ResourcePattern(ResourceType.TOPIC, "", PatternType.LITERAL),
                        new AccessControlEntry("User:alice", "*", AclOperation.READ, AclPermissionType.ALLOW));
        change("createAcls", () -> admin.createAcls(List.of(binding)));
        change("createAcls: without a name", () -> admin.createAcls(List.of(wrong)));
        ask("describeAcls", () -> admin.describeAcls(AclBindingFilter.ANY));
        change("deleteAcls", () -> admin.deleteAcls(List.of(binding.toFilter())).all());
    }

    private void configs() throws Exception {
        ConfigResource topic = resource(ConfigResource.Type.TOPIC, "a");
        ConfigResource none = resource(ConfigResource.Type.TOPIC, "none");
        ConfigResource broker = resource(ConfigResource.Type.BROKER, "1");
        ConfigResource metrics = resource(ConfigResource.Type.CLIENT_METRICS, "slow");
        ConfigResource group = resource(ConfigResource.Type.GROUP, "g");
        AlterConfigOp retention = new AlterConfigOp(new ConfigEntry("retention.ms", "1000"), AlterConfigOp.OpType.SET);
        AlterConfigOp cleanup = new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.APPEND);
        AlterConfigOp unknown = new AlterConfigOp(new ConfigEntry("no.such.key", "1"), AlterConfigOp.OpType.SET);
        AlterConfigOp size = new AlterConfigOp(new ConfigEntry("message.max.bytes", "2000000"), AlterConfigOp.OpType.SET);
        AlterConfigOp interval = new AlterConfigOp(new ConfigEntry("interval.ms", "10000"), AlterConfigOp.OpType.SET);
        AlterConfigOp session = new AlterConfigOp(new ConfigEntry("consumer.session.timeout.ms", "50000"), AlterConfigOp.OpType.SET);
        change("incrementalAlterConfigs: of a topic", () -> admin.incrementalAlterConfigs(Map.of(topic, List.of(retention, cleanup))));
        change("incrementalAlterConfigs: an unknown key", () -> admin.incrementalAlterConfigs(Map.of(topic, List.of(unknown))));
        change("incrementalAlterConfigs: of an unknown topic", () -> admin.incrementalAlterConfigs(Map.of(none, List.of(retention))));
        change("incrementalAlterConfigs: of a broker", () -> admin.incrementalAlterConfigs(Map.of(broker, List.of(size))));
        ask("incrementalAlterConfigs: validation only", () -> admin.incrementalAlterConfigs(Map.of(broker, List.of(size)), new AlterConfigsOptions().validateOnly(true)));
        change("incrementalAlterConfigs: of client metrics", () -> admin.incrementalAlterConfigs(Map.of(metrics, List.of(interval))));
        change("incrementalAlterConfigs: of a group", () -> admin.incrementalAlterConfigs(Map.of(group, List.of(session))));
        ask("describeConfigs: of a topic", () -> admin.describeConfigs(List.of(topic)));
        ask("describeConfigs: of an unknown topic", () -> admin.describeConfigs(List.of(none)));
        ask("describeConfigs: of client metrics", () -> admin.describeConfigs(List.of(metrics)));
        ask("describeConfigs: of a group", () -> admin.describeConfigs(List.of(group)));
        ask("listConfigResources", () -> admin.listConfigResources());
        ask("listConfigResources: of client metrics and groups", () -> admin.listConfigResources(Set.of(ConfigResource.Type.CLIENT_METRICS, ConfigResource.Type.GROUP), new ListConfigResourcesOptions()));
        ask("listClientMetricsResources", () -> admin.listClientMetricsResources());
        change("incrementalAlterConfigs: deletions", () -> admin.incrementalAlterConfigs(Map.of(
                topic, List.of(deletion("retention.ms")), broker, List.of(deletion("message.max.bytes")))));
        change("incrementalAlterConfigs: deletions of client metrics and groups", () -> admin.incrementalAlterConfigs(Map.of(
                metrics, List.of(deletion("interval.ms")), group, List.of(deletion("consumer.session.timeout.ms")))));
    }

    private static AlterConfigOp deletion(String key) {
        return new AlterConfigOp(new ConfigEntry(key, ""), AlterConfigOp.OpType.DELETE);
    }

    private void cluster() throws Exception {
        ask("describeCluster", () -> admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true)));
        ask("describeCluster: with fenced brokers", () -> admin.describeCluster(new DescribeClusterOptions().includeFencedBrokers(true)));
        ask("describeFeatures", () -> admin.describeFeatures());
        ask("updateFeatures: an unknown feature", () -> admin.updateFeatures(Map.of("no.such.feature", new FeatureUpdate((short) 1, FeatureUpdate.UpgradeType.UPGRADE)), new UpdateFeaturesOptions()));
        ask("updateFeatures: validation only", () -> admin.updateFeatures(Map.of("metadata.version", new FeatureUpdate((short) 29, FeatureUpdate.UpgradeType.SAFE_DOWNGRADE)), new UpdateFeaturesOptions().validateOnly(true)));
        ask("describeMetadataQuorum", () -> admin.describeMetadataQuorum());
        ask("unregisterBroker: unknown", () -> admin.unregisterBroker(7));
        ask("unregisterController: unknown", () -> admin.unregisterController(7));
        ask("addRaftVoter", () -> admin.addRaftVoter(7, new Uuid(1, 2), Set.of(new RaftVoterEndpoint("CONTROLLER", "localhost", 1))));
        ask("removeRaftVoter", () -> admin.removeRaftVoter(7, new Uuid(1, 2)));
    }

    private void partitions() throws Exception {
        TopicPartition here = part("a", 0);
        TopicPartition none = part("none", 0);
        ask("listOffsets: latest, earliest", () -> admin.listOffsets(Map.of(here, OffsetSpec.latest(), part("a", 1), OffsetSpec.earliest())).all());
        ask("listOffsets: by time, of the greatest time", () -> admin.listOffsets(Map.of(here, OffsetSpec.forTimestamp(1), part("a", 1), OffsetSpec.maxTimestamp())).all());
        ask("listOffsets: earliest local", () -> admin.listOffsets(Map.of(here, OffsetSpec.earliestLocal())).all());
        ask("listOffsets: latest tiered", () -> admin.listOffsets(Map.of(here, OffsetSpec.latestTiered())).all());
        ask("listOffsets: earliest pending upload", () -> admin.listOffsets(Map.of(here, OffsetSpec.earliestPendingUpload())).all());
        ask("listOffsets: of an unknown topic", () -> admin.listOffsets(Map.of(none, OffsetSpec.latest())).all());
        ask("deleteRecords", () -> admin.deleteRecords(Map.of(here, RecordsToDelete.beforeOffset(0))));
        ask("deleteRecords: beyond the end", () -> admin.deleteRecords(Map.of(here, RecordsToDelete.beforeOffset(5))));
        ask("electLeaders: preferred", () -> admin.electLeaders(ElectionType.PREFERRED, Set.of(here, none)).partitions());
        ask("electLeaders: unclean", () -> admin.electLeaders(ElectionType.UNCLEAN, Set.of(here)));
        ask("alterPartitionReassignments", () -> admin.alterPartitionReassignments(Map.of(here, Optional.of(new NewPartitionReassignment(List.of(1))))));
        ask("alterPartitionReassignments: an unknown broker", () -> admin.alterPartitionReassignments(Map.of(here, Optional.of(new NewPartitionReassignment(List.of(7))))));
        ask("alterPartitionReassignments: an unknown topic", () -> admin.alterPartitionReassignments(Map.of(none, Optional.of(new NewPartitionReassignment(List.of(1))))));
        ask("alterPartitionReassignments: cancellation of none", () -> admin.alterPartitionReassignments(Map.of(here, Optional.empty())));
        ask("listPartitionReassignments", () -> admin.listPartitionReassignments());
        ask("listPartitionReassignments: of one partition", () -> admin.listPartitionReassignments(Set.of(here)));
        ask("describeLogDirs", () -> folders());
        ask("describeReplicaLogDirs", () -> admin.describeReplicaLogDirs(List.of(new TopicPartitionReplica("a", 0, 1))));
        String folder = admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1).keySet().iterator().next();
        ask("alterReplicaLogDirs: to where it is", () -> admin.alterReplicaLogDirs(Map.of(new TopicPartitionReplica("a", 0, 1), folder)));
        ask("alterReplicaLogDirs: to an unknown folder", () -> admin.alterReplicaLogDirs(Map.of(new TopicPartitionReplica("a", 0, 1), "/no/such/folder")));
        ask("alterReplicaLogDirs: of an unknown topic", () -> admin.alterReplicaLogDirs(Map.of(new TopicPartitionReplica("none", 0, 1), folder)));
        ask("describeProducers", () -> admin.describeProducers(List.of(here)).all());
    }

    /** What is in the folders of the topic "a"; a broker has internal topics besides. */
    private Object folders() throws Exception {
        Map<String, Object> shown = new TreeMap<>();
        for (LogDirDescription each : admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1).values()) {
            each.replicaInfos().forEach((where, info) -> {
                if (where.topic().equals("a")) {
                    shown.put(where.toString(), info.toString());
                }
            });
        }
        return shown;
    }

    private void groups() throws Exception {
        TopicPartition here = part("a", 0);
        Map<TopicPartition, OffsetAndMetadata> offsets = Map.of(here, new OffsetAndMetadata(3, "note"), part("a", 1), new OffsetAndMetadata(0));
        change("alterConsumerGroupOffsets", () -> admin.alterConsumerGroupOffsets("g", offsets));
        change("alterConsumerGroupOffsets: of an unknown topic", () -> admin.alterConsumerGroupOffsets("g", Map.of(part("none", 0), new OffsetAndMetadata(0))));
        ask("listConsumerGroupOffsets", () -> admin.listConsumerGroupOffsets("g").all());
        ask("listConsumerGroupOffsets: of an unknown group", () -> admin.listConsumerGroupOffsets("none").all());
        ask("listConsumerGroupOffsets: of one partition", () -> admin.listConsumerGroupOffsets(Map.of("g", new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(here)))).all());
        ask("listGroups", () -> admin.listGroups());
        ask("listGroups: of consumers", () -> admin.listGroups(ListGroupsOptions.forConsumerGroups()));
        ask("listConsumerGroups", () -> admin.listConsumerGroups());
        ask("describeConsumerGroups", () -> admin.describeConsumerGroups(List.of("g"), new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true)).all());
        ask("describeConsumerGroups: unknown", () -> admin.describeConsumerGroups(List.of("none")).all());
        ask("describeClassicGroups", () -> admin.describeClassicGroups(List.of("g")).all());
        ask("describeClassicGroups: unknown", () -> admin.describeClassicGroups(List.of("none")).all());
        ask("describeShareGroups: unknown", () -> admin.describeShareGroups(List.of("none")).all());
        ask("describeShareGroups: another type", () -> admin.describeShareGroups(List.of("g")).all());
        ask("describeStreamsGroups: unknown", () -> admin.describeStreamsGroups(List.of("none")).all());
        ask("describeStreamsGroups: another type", () -> admin.describeStreamsGroups(List.of("g")).all());
        change("removeMembersFromConsumerGroup: all", () -> admin.removeMembersFromConsumerGroup("g", new RemoveMembersFromConsumerGroupOptions()).all());
        change("removeMembersFromConsumerGroup: of an unknown group", () -> admin.removeMembersFromConsumerGroup("none", new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("m")))).all());
        change("deleteConsumerGroupOffsets", () -> admin.deleteConsumerGroupOffsets("g", Set.of(here)).all());
        change("deleteConsumerGroupOffsets: of an unknown group", () -> admin.deleteConsumerGroupOffsets("none", Set.of(here)).all());
        change("deleteConsumerGroups: unknown", () -> admin.deleteConsumerGroups(List.of("none")));
        change("deleteConsumerGroups", () -> admin.deleteConsumerGroups(List.of("g")));
        ask("listStreamsGroupOffsets", () -> admin.listStreamsGroupOffsets(Map.of("none", new ListStreamsGroupOffsetsSpec())).all());
        change("alterStreamsGroupOffsets", () -> admin.alterStreamsGroupOffsets("s", Map.of(here, new OffsetAndMetadata(1))).all());
        change("deleteStreamsGroupOffsets", () -> admin.deleteStreamsGroupOffsets("s", Set.of(here)).all());
        change("deleteStreamsGroups", () -> admin.deleteStreamsGroups(List.of("s")).all());
        ask("listShareGroupOffsets: of an unknown group", () -> admin.listShareGroupOffsets(Map.of("none", new ListShareGroupOffsetsSpec())).all());
        change("deleteShareGroupOffsets: of an unknown group", () -> admin.deleteShareGroupOffsets("none", Set.of("a")).all());
        change("deleteShareGroups: unknown", () -> admin.deleteShareGroups(List.of("none")).all());
        change("alterShareGroupOffsets: of an unknown topic", () -> admin.alterShareGroupOffsets("none", Map.of(part("none", 0), 1L)).all());
    }

    private void transactions() throws Exception {
        ask("listTransactions", () -> admin.listTransactions().all());
        ask("listTransactions: filtered", () -> admin.listTransactions(new ListTransactionsOptions().filterStates(Set.of(TransactionState.ONGOING)).filterOnDuration(10)).all());
        ask("listTransactions: by pattern", () -> admin.listTransactions(new ListTransactionsOptions().filterOnTransactionalIdPattern("t.*")).all());
        ask("describeTransactions: unknown", () -> admin.describeTransactions(List.of("none")).all());
        change("fenceProducers", () -> admin.fenceProducers(List.of("fenced")).all());
        change("abortTransaction", () -> admin.abortTransaction(new AbortTransactionSpec(part("a", 0), 1, (short) 0, 0)));
        change("forceTerminateTransaction: unknown", () -> admin.forceTerminateTransaction("none"));
    }

    private void credentials() throws Exception {
        ScramCredentialInfo info = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096);
        change("alterUserScramCredentials", () -> admin.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion("u", info, "secret"))));
        ask("describeUserScramCredentials", () -> admin.describeUserScramCredentials(List.of("u")).all());
        ask("describeUserScramCredentials: unknown", () -> admin.describeUserScramCredentials(List.of("none")).all());
        change("alterUserScramCredentials: deletion", () -> admin.alterUserScramCredentials(List.of(new UserScramCredentialDeletion("u", ScramMechanism.SCRAM_SHA_256))));
        change("alterUserScramCredentials: deletion of none", () -> admin.alterUserScramCredentials(List.of(new UserScramCredentialDeletion("u", ScramMechanism.SCRAM_SHA_256))));
        ClientQuotaEntity user = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, "u"));
        change("alterClientQuotas", () -> admin.alterClientQuotas(List.of(new ClientQuotaAlteration(user, List.of(new ClientQuotaAlteration.Op("producer_byte_rate", 1024.0))))));
        ask("describeClientQuotas", () -> admin.describeClientQuotas(ClientQuotaFilter.all()));
        change("alterClientQuotas: deletion", () -> admin.alterClientQuotas(List.of(new ClientQuotaAlteration(user, List.of(new ClientQuotaAlteration.Op("producer_byte_rate", null))))));
        change("alterClientQuotas: an unknown key", () -> admin.alterClientQuotas(List.of(new ClientQuotaAlteration(user, List.of(new ClientQuotaAlteration.Op("no_such_key", 1.0))))));
        ask("createDelegationToken", () -> admin.createDelegationToken());
        ask("renewDelegationToken", () -> admin.renewDelegationToken(new byte[] {1}));
        ask("expireDelegationToken", () -> admin.expireDelegationToken(new byte[] {1}));
        ask("describeDelegationToken", () -> admin.describeDelegationToken());
    }

    private void rest() throws Exception {
        ask("clientInstanceId", () -> admin.clientInstanceId(Duration.ofSeconds(1)).getClass().getSimpleName());
        ask("metrics", () -> admin.metrics().isEmpty());
        ask("registerMetricForSubscription", () -> {
            admin.registerMetricForSubscription(null);
            return "";
        });
        ask("unregisterMetricFromSubscription", () -> {
            admin.unregisterMetricFromSubscription(null);
            return "";
        });
        change("deleteTopics: the last", () -> admin.deleteTopics(List.of("a")));
        ask("close", () -> {
            admin.close();
            return "";
        });
    }

    /** Makes a call that may change something, and waits until a broker shows it. */
    private void change(String name, Call call) throws Exception {
        ask(name, call);
        AclBinding barrier =
                new AclBinding(
                        new ResourcePattern(ResourceType.TOPIC, "barrier-" + barriers++, PatternType.LITERAL),
                        new AccessControlEntry("User:barrier", "*", AclOperation.READ, AclPermissionType.ALLOW));
        admin.createAcls(List.of(barrier)).all().get();
        while (admin.describeAcls(barrier.toFilter()).values().get().isEmpty()) {
            TimeUnit.MILLISECONDS.sleep(2);
        }
        admin.deleteAcls(List.of(barrier.toFilter())).all().get();
        while (!admin.describeAcls(barrier.toFilter()).values().get().isEmpty()) {
            TimeUnit.MILLISECONDS.sleep(2);
        }
    }

    private static boolean refused;

    private static void ask(String name, Call call) {
        refused = false;
        String shown;
        try {
            shown = shown(call.result());
        } catch (Exception e) {
            shown = failure(e);
        }
        String text = shown.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t");
        System.out.println("call\t" + name + "\t" + (refused ? "refused" : "works") + "\t" + text);
    }

    private static String failure(Throwable e) {
        refused = true;
        Throwable cause = e instanceof ExecutionException ? e.getCause() : e;
        return "!" + cause.getClass().getSimpleName() + ": " + cause.getMessage();
    }

    /** Returns a result as text: of Kafka's result classes what each method without arguments gives. */
    private static String shown(Object value) throws Exception {
        if (value == null) {
            return "null";
        }
        if (value instanceof KafkaFuture) {
            try {
                return shown(((KafkaFuture<?>) value).get(LIMIT_SECONDS, TimeUnit.SECONDS));
            } catch (ExecutionException e) {
                return failure(e);
            }
        }
        if (value instanceof Optional) {
            return ((Optional<?>) value).isPresent() ? shown(((Optional<?>) value).get()) : "none";
        }
        if (value instanceof Map) {
            Map<String, String> rows = new TreeMap<>();
            for (Map.Entry<?, ?> each : ((Map<?, ?>) value).entrySet()) {
                rows.put(shown(each.getKey()), shown(each.getValue()));
            }
            return rows.toString();
        }
        if (value instanceof Collection) {
            List<String> rows = new java.util.ArrayList<>();
            for (Object each : (Collection<?>) value) {
                rows.add(shown(each));
            }
            java.util.Collections.sort(rows);
            return rows.toString();
        }
        if (value instanceof Throwable) {
            return failure((Throwable) value);
        }
        if (value instanceof Config) {
            return shown(((Config) value).entries());
        }
        String type = value.getClass().getName();
        if (!type.startsWith(PACKAGE) || !type.endsWith("Result")) {
            return String.valueOf(value);
        }
        Map<String, String> parts = new TreeMap<>();
        for (Method method : value.getClass().getMethods()) {
            Class<?> given = method.getReturnType();
            if (method.getParameterCount() == 0 && (given == KafkaFuture.class || given == Map.class)) {
                parts.put(method.getName(), shown(method.invoke(value)));
            }
        }
        return parts.toString();
    }
}
