import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Calls of Kafka's own Java AdminClient, for the tests to read what a tool left behind.
 *
 * <p>A binding is seven words: resource type, name, pattern type, principal, host, operation, permission. In a filter
 * null means any.
 */
final class AdminCalls {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long LIMIT_SECONDS = 30;
    private static final Map<String, Member> MEMBERS = new ConcurrentHashMap<>();

    private AdminCalls() {}

    static ObjectNode answer(JsonNode request) {
        try {
            JsonNode value = call(request);
            ObjectNode answer = JSON.createObjectNode().put("status", 0);
            answer.set("value", value);
            return answer;
        } catch (ExecutionException e) {
            return failed(e.getCause());
        } catch (Exception e) {
            return failed(e);
        }
    }

    private static ObjectNode failed(Throwable e) {
        return JSON.createObjectNode().put("status", 1).put("error", e.getClass().getSimpleName() + ": " + e.getMessage());
    }

    private static JsonNode call(JsonNode request) throws Exception {
        Map<String, Object> config = new HashMap<>();
        request.get("config").fields().forEachRemaining(e -> config.put(e.getKey(), e.getValue().asText()));
        String name = request.get("call").asText();
        if (name.equals("joinGroup")) {
            return join(request, config);
        }
        if (name.equals("leaveGroup")) {
            MEMBERS.remove(request.get("group").asText()).leave();
            return JSON.nullNode();
        }
        try (Admin admin = Admin.create(config)) {
            switch (name) {
                case "createAcls":
                    List<AclBinding> bindings = new ArrayList<>();
                    request.get("bindings").forEach(words -> bindings.add(binding(words)));
                    admin.createAcls(bindings).all().get(LIMIT_SECONDS, TimeUnit.SECONDS);
                    return JSON.nullNode();
                case "describeAcls":
                    return words(admin.describeAcls(filter(request.get("filter"))).values().get(LIMIT_SECONDS, TimeUnit.SECONDS));
                case "deleteAcls":
                    List<AclBindingFilter> filters = new ArrayList<>();
                    request.get("filters").forEach(words -> filters.add(filter(words)));
                    return words(admin.deleteAcls(filters).all().get(LIMIT_SECONDS, TimeUnit.SECONDS));
                case "describeClusterFor":
                    return describing(admin, request.get("seconds").asInt());
                case "describeCluster":
                    return cluster(admin);
                case "describeTopics":
                    return topics(admin, strings(request.get("names")));
                case "describeGroups":
                    return groups(admin, strings(request.get("names")));
                case "createTopic":
                    NewTopic topic = new NewTopic(request.get("name").asText(), request.get("partitions").asInt(), (short) 1);
                    admin.createTopics(List.of(topic)).all().get(LIMIT_SECONDS, TimeUnit.SECONDS);
                    return JSON.nullNode();
                case "deleteTopic":
                    admin.deleteTopics(List.of(request.get("name").asText())).all().get(LIMIT_SECONDS, TimeUnit.SECONDS);
                    return JSON.nullNode();
                default:
                    throw new IllegalArgumentException("no call " + name);
            }
        }
    }

    /** Asks again and again on the connections of one client; returns how often it was answered. */
    private static JsonNode describing(Admin admin, int seconds) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        int answers = 0;
        while (System.nanoTime() < end) {
            admin.describeCluster().nodes().get(LIMIT_SECONDS, TimeUnit.SECONDS);
            answers++;
            Thread.sleep(100);
        }
        return JSON.getNodeFactory().numberNode(answers);
    }

    private static List<String> strings(JsonNode array) {
        List<String> strings = new ArrayList<>();
        array.forEach(word -> strings.add(word.asText()));
        return strings;
    }

    private static AclBinding binding(JsonNode w) {
        return new AclBinding(
                new ResourcePattern(ResourceType.valueOf(w.get(0).asText()), w.get(1).asText(), PatternType.valueOf(w.get(2).asText())),
                new AccessControlEntry(
                        w.get(3).asText(), w.get(4).asText(), AclOperation.valueOf(w.get(5).asText()), AclPermissionType.valueOf(w.get(6).asText())));
    }

    private static String orNull(JsonNode word) {
        return word.isNull() ? null : word.asText();
    }

    private static AclBindingFilter filter(JsonNode w) {
        return new AclBindingFilter(
                new ResourcePatternFilter(ResourceType.valueOf(w.get(0).asText()), orNull(w.get(1)), PatternType.valueOf(w.get(2).asText())),
                new AccessControlEntryFilter(
                        orNull(w.get(3)), orNull(w.get(4)), AclOperation.valueOf(w.get(5).asText()), AclPermissionType.valueOf(w.get(6).asText())));
    }

    private static ArrayNode words(Collection<AclBinding> bindings) {
        ArrayNode rows = JSON.createArrayNode();
        for (AclBinding binding : bindings) {
            rows.addArray()
                    .add(binding.pattern().resourceType().name())
                    .add(binding.pattern().name())
                    .add(binding.pattern().patternType().name())
                    .add(binding.entry().principal())
                    .add(binding.entry().host())
                    .add(binding.entry().operation().name())
                    .add(binding.entry().permissionType().name());
        }
        return rows;
    }

    private static JsonNode operations(Set<AclOperation> operations) {
        if (operations == null) {
            return JSON.nullNode();
        }
        ArrayNode names = JSON.createArrayNode();
        operations.stream().map(Enum::name).sorted().forEach(names::add);
        return names;
    }

    private static ObjectNode cluster(Admin admin) throws Exception {
        DescribeClusterResult result = admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true));
        ObjectNode cluster = JSON.createObjectNode();
        cluster.put("clusterId", result.clusterId().get(LIMIT_SECONDS, TimeUnit.SECONDS));
        cluster.put("controller", result.controller().get().id());
        ArrayNode nodes = cluster.putArray("nodes");
        result.nodes().get().forEach(node -> nodes.addArray().add(node.id()).add(node.host()).add(node.port()));
        cluster.set("operations", operations(result.authorizedOperations().get()));
        return cluster;
    }

    private static ObjectNode topics(Admin admin, List<String> names) throws Exception {
        ObjectNode topics = JSON.createObjectNode();
        DescribeTopicsOptions options = new DescribeTopicsOptions().includeAuthorizedOperations(true);
        for (TopicDescription topic : admin.describeTopics(names, options).allTopicNames().get(LIMIT_SECONDS, TimeUnit.SECONDS).values()) {
            ObjectNode row = topics.putObject(topic.name());
            row.put("partitions", topic.partitions().size()).put("internal", topic.isInternal());
            row.set("operations", operations(topic.authorizedOperations()));
        }
        return topics;
    }

    private static ObjectNode groups(Admin admin, List<String> names) throws Exception {
        ObjectNode groups = JSON.createObjectNode();
        DescribeConsumerGroupsOptions options = new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true);
        for (ConsumerGroupDescription group :
                admin.describeConsumerGroups(names, options).all().get(LIMIT_SECONDS, TimeUnit.SECONDS).values()) {
            ObjectNode row = groups.putObject(group.groupId());
            row.put("state", group.state().name()).put("assignor", group.partitionAssignor());
            row.set("operations", operations(group.authorizedOperations()));
            ArrayNode members = row.putArray("members");
            for (MemberDescription member : group.members()) {
                ObjectNode one = members.addObject();
                one.put("clientId", member.clientId()).put("host", member.host());
                one.put("instanceId", member.groupInstanceId().orElse(null));
                Set<String> partitions = new TreeSet<>();
                member.assignment().topicPartitions().forEach(p -> partitions.add(p.toString()));
                ArrayNode assignment = one.putArray("assignment");
                partitions.forEach(assignment::add);
            }
        }
        return groups;
    }

    /** A consumer that stays in its group until told to leave. */
    private static final class Member extends Thread {
        private final KafkaConsumer<byte[], byte[]> consumer;
        private final List<String> topics;
        private final CountDownLatch assigned = new CountDownLatch(1);

        Member(KafkaConsumer<byte[], byte[]> consumer, List<String> topics) {
            this.consumer = consumer;
            this.topics = topics;
            setDaemon(true);
        }

        @Override
        public void run() {
            try (consumer) {
                consumer.subscribe(topics, new ConsumerRebalanceListener() {
                    @Override
                    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}

                    @Override
                    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                        assigned.countDown();
                    }
                });
                while (true) {
                    consumer.poll(Duration.ofMillis(200));
                }
            } catch (WakeupException e) {
                // Told to leave: the consumer closes and so leaves its group.
            }
        }

        void leave() throws InterruptedException {
            consumer.wakeup();
            join(LIMIT_SECONDS * 1000);
        }
    }

    private static JsonNode join(JsonNode request, Map<String, Object> config) throws InterruptedException {
        String group = request.get("group").asText();
        config.put("group.id", group);
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        Member member = new Member(new KafkaConsumer<>(config, bytes, bytes), strings(request.get("topics")));
        MEMBERS.put(group, member);
        member.start();
        return JSON.getNodeFactory().booleanNode(member.assigned.await(LIMIT_SECONDS, TimeUnit.SECONDS));
    }
}
