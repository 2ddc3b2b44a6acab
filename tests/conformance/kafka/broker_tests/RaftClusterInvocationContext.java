package org.apache.kafka.common.test.junit;

import doorkeeper.conformance.ServerCluster;
import java.util.List;
import org.apache.kafka.common.test.api.ClusterConfig;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;

/**
 * Replaces Kafka's class of this name, which starts brokers in this JVM: the cluster of a {@code @ClusterTest} is one
 * of servers in processes of their own.
 */
public class RaftClusterInvocationContext implements TestTemplateInvocationContext {
    private final String baseDisplayName;
    private final ClusterConfig clusterConfig;
    private final boolean isCombined;

    public RaftClusterInvocationContext(String baseDisplayName, ClusterConfig clusterConfig, boolean isCombined) {
        this.baseDisplayName = baseDisplayName;
        this.clusterConfig = clusterConfig;
        this.isCombined = isCombined;
    }

    @Override
    public String getDisplayName(int invocationIndex) {
        return String.format("%s [%d]", baseDisplayName, invocationIndex);
    }

    @Override
    public List<Extension> getAdditionalExtensions() {
        if (!isCombined && clusterConfig.clusterTypes().size() > 1) {
            // Brokers and controllers are one process here, so that both types are the same cluster.
            ExecutionCondition never =
                    context -> ConditionEvaluationResult.disabled("the cluster of Combined, once more");
            // The constructor of a test may want a cluster before the condition is asked.
            return List.of(never, new ClusterInstanceParameterResolver(new ServerCluster(clusterConfig, isCombined)));
        }
        ServerCluster cluster = new ServerCluster(clusterConfig, isCombined);
        BeforeEachCallback start = context -> {
            if (clusterConfig.isAutoStart()) {
                cluster.start();
            }
        };
        AfterTestExecutionCallback stop = context -> cluster.stop();
        return List.of(start, stop, new ClusterInstanceParameterResolver(cluster));
    }
}
