import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.AlterConfigPolicy;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/** Policies that say what they were given. testkit.policies has the same in Python. */
public final class RefusingPolicies {
    private RefusingPolicies() {}

    /** Topics: a name that begins with "refused" is refused, with the request in the text. */
    public static final class Topics implements CreateTopicPolicy {
        @Override
        public void configure(Map<String, ?> configs) {}

        @Override
        public void validate(RequestMetadata request) {
            String name = request.topic();
            if (name.startsWith("silent")) {
                throw new PolicyViolationException((String) null);
            }
            if (name.startsWith("broken")) {
                throw new IllegalStateException("broken");
            }
            if (name.startsWith("refused")) {
                throw new PolicyViolationException(
                        request.numPartitions() + " " + request.replicationFactor() + " "
                                + request.replicasAssignments() + " "
                                + new TreeMap<>(request.configs()));
            }
        }

        @Override
        public void close() {}
    }

    /** Configurations: those with one of some values are refused, with the request in the text. */
    public static final class Configs implements AlterConfigPolicy {
        @Override
        public void configure(Map<String, ?> configs) {}

        @Override
        public void validate(RequestMetadata request) {
            Map<String, String> configs = new TreeMap<>(request.configs());
            if (configs.containsValue("5001")) {
                throw new PolicyViolationException(
                        request.resource().type() + " " + request.resource().name() + " " + configs);
            }
            if (configs.containsValue("5002")) {
                throw new IllegalStateException("broken");
            }
            if (configs.containsValue("5003")) {
                throw new InvalidConfigurationException("not this one");
            }
            if (configs.containsValue("5004")) {
                throw new PolicyViolationException((String) null);
            }
        }

        @Override
        public void close() {}
    }
}
