package doorkeeper.conformance;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Exit;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs classes of tests, named as arguments, and prints a line of JSON for each test on standard output. */
public final class RunTests {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] names) {
        PrintStream results = System.out;
        // What tests print themselves must not mix with the results.
        System.setOut(System.err);
        List<DiscoverySelector> selectors = new ArrayList<>();
        for (String name : names) {
            selectors.add(DiscoverySelectors.selectClass(name));
        }
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(selectors)
                .configurationParameter("junit.jupiter.execution.timeout.testable.method.default", "90 s")
                .configurationParameter("junit.jupiter.execution.timeout.lifecycle.method.default", "90 s")
                .build();
        // A command that fails ends the process, and with it the tests behind it.
        Exit.setExitProcedure((status, message) -> {
            throw new IllegalStateException("exit status " + status + ": " + message);
        });
        Launcher launcher = LauncherFactory.create();
        launcher.execute(request, new Reporter(results));
        results.flush();
        System.exit(0);
    }

    private static final class Reporter implements TestExecutionListener {
        private final PrintStream results;
        private TestPlan plan;

        Reporter(PrintStream results) {
            this.results = results;
        }

        @Override
        public void testPlanExecutionStarted(TestPlan testPlan) {
            plan = testPlan;
        }

        @Override
        public void executionSkipped(TestIdentifier test, String reason) {
            print(test, "skipped", reason);
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            boolean failed = result.getStatus() != TestExecutionResult.Status.SUCCESSFUL;
            if (test.isTest() || failed) {
                print(test, failed ? "failed" : "passed", result.getThrowable().map(RunTests::text).orElse(""));
            }
        }

        private void print(TestIdentifier test, String outcome, String text) {
            Map<String, String> line = new LinkedHashMap<>();
            line.put("test", path(test));
            line.put("outcome", outcome);
            line.put("text", text);
            try {
                results.println(JSON.writeValueAsString(line));
            } catch (com.fasterxml.jackson.core.JsonProcessingException error) {
                throw new IllegalStateException(error);
            }
            results.flush();
        }

        private String path(TestIdentifier test) {
            String own = test.getDisplayName();
            return plan.getParent(test)
                    .filter(parent -> parent.getParentId().isPresent())
                    .map(parent -> path(parent) + " > " + own)
                    .orElse(own);
        }
    }

    private static String text(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable each = error; each != null; each = each.getCause()) {
            text.append(text.length() > 0 ? " <- " : "").append(each);
        }
        for (StackTraceElement element : error.getStackTrace()) {
            if (element.getClassName().endsWith("Test")) {
                text.append(" at ").append(element);
                break;
            }
        }
        return text.toString();
    }
}
