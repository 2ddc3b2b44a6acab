package doorkeeper.conformance;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import kafka.server.BrokerServer;
import kafka.server.ControllerServer;
import kafka.server.KafkaBroker;
import kafka.server.KafkaConfig;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateAclsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.TopicListing;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.internals.Plugin;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.token.delegation.DelegationToken;
import org.apache.kafka.metadata.BrokerState;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.raft.LogOffsetMetadata;
import org.apache.kafka.server.authorizer.AclCreateResult;
import org.apache.kafka.server.authorizer.AclDeleteResult;
import org.apache.kafka.server.authorizer.Authorizer;
import org.mockito.Mockito;
import org.mockito.stubbing.Answer;
import scala.Option;

/**
 * Objects of a broker over a server in another process: what a test may ask of them is asked over the wire.
 *
 * <p>What only the inside of a broker has (logs, caches, metrics) throws {@link UnsupportedOperationException}.
 */
public final class BrokerStandIn {
    private static final Set<String> PARTS = Set.of(
            "client", "controller", "dataPlaneRequestProcessor", "groupCoordinator", "loader", "metadataCache", "raftLog", "raftManager", "sharedServer", "socketServer", "tokenCache");

    /** The process behind it. */
    public interface Node {
        void start();

        void stop();

        boolean isRunning();

        int port(String listener);
    }

    private final KafkaConfig config;
    private final Node node;
    private final Supplier<Admin> admins;
    private final Supplier<Admin> adminsOfTest;

    private BrokerStandIn(KafkaConfig config, Node node, Supplier<Admin> admins, Supplier<Admin> adminsOfTest) {
        this.config = config;
        this.node = node;
        this.admins = admins;
        this.adminsOfTest = adminsOfTest;
    }

    /** A broker asked by clients of {@code admins}, and where a login is needed by those of {@code adminsOfTest}. */
    public static KafkaBroker broker(
            KafkaConfig config, Node node, Supplier<Admin> admins, Supplier<Admin> adminsOfTest) {
        return new BrokerStandIn(config, node, admins, adminsOfTest).mock(BrokerServer.class);
    }

    public static ControllerServer controller(KafkaConfig config, Node node, Supplier<Admin> admins) {
        return new BrokerStandIn(config, node, admins, admins).mock(ControllerServer.class);
    }

    private <T> T mock(Class<T> type) {
        return Mockito.mock(type, Mockito.withSettings().stubOnly().defaultAnswer(invocation -> {
            Object[] arguments = invocation.getArguments();
            String name = invocation.getMethod().getName();
            return PARTS.contains(name)
                    ? mock(invocation.getMethod().getReturnType())
                    : answer(type, name, arguments);
        }));
    }

    private Object answer(Class<?> type, String name, Object[] arguments) throws Exception {
        switch (name) {
            case "config":
                return config;
            case "boundPort":
                return node.port(((ListenerName) arguments[0]).value());
            case "startup":
                node.start();
                return null;
            case "shutdown":
                node.stop();
                return null;
            case "awaitShutdown":
                return null;
            case "isShutdown":
                return !node.isRunning();
            case "isActive":
                return node.isRunning();
            case "brokerState":
                return node.isRunning() ? BrokerState.RUNNING : BrokerState.NOT_RUNNING;
            case "lastAppliedOffset":
                // A server shows a change before it acknowledges it: nothing is left to wait for.
                return Long.MAX_VALUE;
            case "groupMetadataTopicConfigs":
                return new Properties();
            case "endOffset":
                return new LogOffsetMetadata(0);
            case "leaderAndEpoch":
                try (Admin admin = admins.get()) {
                    int leader = admin.describeCluster().controller().get().id();
                    return new LeaderAndEpoch(OptionalInt.of(leader), 1);
                }
            case "numPartitions":
                return partitions((String) arguments[0]).map(List::size);
            case "contains":
                return partitions(arguments[0].toString()).isPresent();
            case "getLeaderAndIsr":
                return partitions((String) arguments[0])
                        .filter(all -> (int) arguments[1] < all.size())
                        .map(all -> all.get((int) arguments[1]))
                        .map(each -> new LeaderAndIsr(
                                each.leader() == null ? -1 : each.leader().id(),
                                each.isr().stream().map(org.apache.kafka.common.Node::id).toList()));
            case "hasAliveBroker":
                try (Admin admin = admins.get()) {
                    return admin.describeCluster().nodes().get().stream()
                            .anyMatch(each -> each.id() == (int) arguments[0]);
                }
            case "findAllTopicIds":
                try (Admin admin = admins.get()) {
                    return CompletableFuture.completedFuture(
                            admin.listTopics(new ListTopicsOptions().listInternal(true)).listings().get().stream()
                                    .collect(Collectors.toMap(TopicListing::name, TopicListing::topicId)));
                }
            case "tokens":
                try (Admin admin = adminsOfTest.get()) {
                    return admin.describeDelegationToken().delegationTokens().get().stream()
                            .map(DelegationToken::tokenInfo)
                            .toList();
                }
            case "clusterId":
                try (Admin admin = admins.get()) {
                    return admin.describeCluster().clusterId().get();
                }
            case "authorizerPlugin":
                return config.getString("authorizer.class.name").isEmpty()
                        ? Option.empty()
                        : Option.apply(Plugin.wrapInstance(authorizer(admins), null, "authorizer.class.name"));
            case "toString":
                return type.getSimpleName() + " of node " + config.nodeId();
            default:
                throw new UnsupportedOperationException("inside of a broker: " + type.getSimpleName() + "." + name);
        }
    }

    private Optional<List<TopicPartitionInfo>> partitions(String topic) throws Exception {
        try (Admin admin = admins.get()) {
            return Optional.of(admin.describeTopics(List.of(topic))
                    .allTopicNames()
                    .get()
                    .get(topic)
                    .partitions());
        } catch (ExecutionException error) {
            if (error.getCause() instanceof UnknownTopicOrPartitionException) {
                return Optional.empty();
            }
            throw error;
        }
    }

    /** An authorizer whose ACLs are those of the server, read and changed over the wire. */
    @SuppressWarnings("unchecked")
    public static Authorizer authorizer(Supplier<Admin> admins) {
        Answer<Object> answer = invocation -> {
            Object[] arguments = invocation.getArguments();
            String name = invocation.getMethod().getName();
            if (name.equals("close")) {
                return null;
            }
            if (name.equals("toString")) {
                return "Authorizer of a server";
            }
            try (Admin admin = admins.get()) {
                switch (name) {
                    case "acls":
                        return admin.describeAcls((AclBindingFilter) arguments[0]).values().get();
                    case "createAcls":
                        admin.createAcls((List<AclBinding>) arguments[1], new CreateAclsOptions()).all().get();
                        return ((List<AclBinding>) arguments[1])
                                .stream()
                                        .map(each -> CompletableFuture.completedFuture(AclCreateResult.SUCCESS))
                                        .toList();
                    case "deleteAcls":
                        admin.deleteAcls((List<AclBindingFilter>) arguments[1]).all().get();
                        return ((List<AclBindingFilter>) arguments[1])
                                .stream()
                                        .map(each -> CompletableFuture.completedFuture(
                                                new AclDeleteResult((ApiException) null)))
                                        .toList();
                    default:
                        throw new UnsupportedOperationException("inside of an authorizer: " + name);
                }
            }
        };
        return Mockito.mock(Authorizer.class, Mockito.withSettings().stubOnly().defaultAnswer(answer));
    }
}
