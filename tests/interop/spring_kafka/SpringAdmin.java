import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.kafka.config.TopicBuilder;
import org.springframework.kafka.core.KafkaAdmin;

/**
 * Calls every operation of Spring Kafka's KafkaAdmin, and lets it make the topics that an application declares.
 *
 * <p>Argument: the server's address. The lines are those of AdminMethods.
 */
public final class SpringAdmin {
    private static final Set<String> MISSING =
            new TreeSet<>(Set.of("getConfigurationProperties", "createOrModifyTopics", "describeTopics", "deleteTopics", "clusterId", "initialize"));

    private SpringAdmin() {}

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> config = Map.of("bootstrap.servers", arguments[0], "default.api.timeout.ms", "5000", "request.timeout.ms", "3000");
        KafkaAdmin admin = new KafkaAdmin(config);
        admin.setFatalIfBrokerNotAvailable(true);
        admin.setModifyTopicConfigs(true);
        try (Admin reader = Admin.create(config);
                GenericApplicationContext context = new GenericApplicationContext()) {
            NewTopic declared = TopicBuilder.name("declared").partitions(2).replicas(1).config("retention.ms", "1000").build();
            context.registerBean("declared", NewTopic.class, () -> declared);
            context.registerBean("admin", KafkaAdmin.class, () -> admin);
            context.refresh();
            until(reader, "declared", 2);
            ask("describeTopics: one that a bean declares", () -> admin.describeTopics("declared"));
            ask("initialize: again", admin::initialize);
            ask("createOrModifyTopics", () -> changed(() -> admin.createOrModifyTopics(new NewTopic("a", 1, (short) 1))));
            until(reader, "a", 1);
            ask("createOrModifyTopics: more partitions", () -> changed(() -> admin.createOrModifyTopics(new NewTopic("a", 3, (short) 1))));
            until(reader, "a", 3);
            ask("createOrModifyTopics: another configuration", () -> changed(() -> admin.createOrModifyTopics(new NewTopic("a", 3, (short) 1).configs(Map.of("retention.ms", "2000")))));
            ask("createOrModifyTopics: too many replicas", () -> changed(() -> admin.createOrModifyTopics(new NewTopic("b", 1, (short) 2))));
            ask("describeTopics", () -> admin.describeTopics("a"));
            ask("describeTopics: unknown", () -> admin.describeTopics("none"));
            ask("clusterId", () -> admin.clusterId().length());
            ask("getConfigurationProperties", () -> admin.getConfigurationProperties().size());
            ask("deleteTopics", () -> changed(() -> admin.deleteTopics("a", "declared")));
            until(reader, "declared", 0);
            ask("deleteTopics: unknown", () -> changed(() -> admin.deleteTopics("none")));
        }
        System.out.println("missing\t" + String.join(" ", MISSING));
        System.exit(0);
    }

    private static Object changed(Runnable change) {
        change.run();
        return "";
    }

    /** A broker shows a little later what it acknowledges: waits until a topic has so many partitions. */
    private static void until(Admin reader, String topic, int partitions) throws Exception {
        long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        while (System.nanoTime() < end) {
            int found = 0;
            if (reader.listTopics().names().get().contains(topic)) {
                try {
                    found = reader.describeTopics(Set.of(topic)).allTopicNames().get().get(topic).partitions().size();
                } catch (java.util.concurrent.ExecutionException e) {
                    // It is not there any more, or not yet.
                    found = 0;
                }
            }
            if (found == partitions) {
                return;
            }
            TimeUnit.MILLISECONDS.sleep(5);
        }
        throw new IllegalStateException(topic + " does not get " + partitions + " partitions");
    }

    private static void ask(String name, Callable<Object> call) {
        MISSING.remove(name.split(":")[0]);
        String outcome = "works";
        String text;
        try {
            Object value = call.call();
            text = String.valueOf(value instanceof Map ? new TreeMap<>((Map<?, ?>) value) : value);
        } catch (Exception e) {
            outcome = "refused";
            Throwable cause = e.getCause() == null ? e : e.getCause();
            text = "!" + e.getClass().getSimpleName() + ": " + cause.getClass().getSimpleName() + ": " + cause.getMessage();
        }
        System.out.println("call\t" + name + "\t" + outcome + "\t" + text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t"));
    }
}
