import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * What an administrator and a producer do, with the clients of any release from 2.1 on; one line for each call.
 *
 * <p>Arguments: the server's address, and a name for what is created.
 */
public final class ClientCalls {
    private static final long LIMIT_SECONDS = 60;

    private ClientCalls() {}

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("request.timeout.ms", "30000");
        properties.put("default.api.timeout.ms", "60000");
        try (AdminClient admin = AdminClient.create(properties)) {
            administer(admin, arguments[1]);
        }
        properties.put("max.block.ms", "30000");
        produce(properties, arguments[1], "false", "1");
        produce(properties, arguments[1], "true", "all");
        System.exit(0);
    }

    private static void administer(AdminClient admin, String name) throws Exception {
        say("nodes", admin.describeCluster().nodes().get(LIMIT_SECONDS, TimeUnit.SECONDS).size());
        admin.createTopics(Collections.singleton(new NewTopic(name, 2, (short) 1)))
                .all()
                .get(LIMIT_SECONDS, TimeUnit.SECONDS);
        Collection<String> topics = admin.listTopics().names().get(LIMIT_SECONDS, TimeUnit.SECONDS);
        say("topic", topics.contains(name));
        AclBinding binding = new AclBinding(
                new ResourcePattern(ResourceType.TOPIC, name, PatternType.PREFIXED),
                new AccessControlEntry("User:" + name, "*", AclOperation.READ, AclPermissionType.ALLOW));
        admin.createAcls(Collections.singleton(binding)).all().get(LIMIT_SECONDS, TimeUnit.SECONDS);
        say("acls", admin.describeAcls(binding.toFilter()).values().get(LIMIT_SECONDS, TimeUnit.SECONDS));
        say("deleted", admin.deleteAcls(Collections.singleton(binding.toFilter()))
                .all()
                .get(LIMIT_SECONDS, TimeUnit.SECONDS)
                .size());
        List<AclBinding> left = new ArrayList<>(
                admin.describeAcls(AclBindingFilter.ANY).values().get(LIMIT_SECONDS, TimeUnit.SECONDS));
        say("left", left.size());
        say("topics", new TreeSet<>(topics).size() > 0);
    }

    private static void produce(Properties properties, String topic, String idempotent, String acks) {
        Properties own = new Properties();
        own.putAll(properties);
        own.put("enable.idempotence", idempotent);
        own.put("acks", acks);
        StringSerializer text = new StringSerializer();
        String call = "true".equals(idempotent) ? "idempotent" : "plain";
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(own, text, text)) {
            producer.send(new ProducerRecord<>(topic, "value")).get(LIMIT_SECONDS, TimeUnit.SECONDS);
            say(call, "written");
        } catch (ExecutionException e) {
            say(call, e.getCause().getClass().getSimpleName() + ": " + e.getCause().getMessage());
        } catch (Exception e) {
            say(call, e.getClass().getSimpleName() + ": " + e.getMessage());
        }
    }

    private static void say(String call, Object value) {
        System.out.println(call + ": " + value);
    }
}
