import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs many of Kafka's command-line tools in one JVM, whose start would otherwise cost more than the command.
 *
 * <p>Each line of standard input is a JSON object, answered by one JSON line on standard output:
 *
 * <pre>
 * {"main": "org.apache.kafka.tools.AclCommand", "args": ["--list", ...]}
 *     -> {"status": 0, "stdout": "...", "stderr": "..."}
 * {"call": "describeAcls", "config": {"bootstrap.servers": "..."}, ...}
 *     -> {"status": 0, "value": ...} or {"status": 1, "error": "...Exception: text"}   (see AdminCalls)
 * </pre>
 *
 * What a tool writes after it asked to exit is dropped, as a real exit would have it.
 */
public final class ToolRunner {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Capture OUT = new Capture();
    private static final Capture ERR = new Capture();

    private ToolRunner() {}

    /** What a tool throws instead of ending the JVM. */
    private static final class Exited extends Error {
        private static final long serialVersionUID = 1L;
    }

    /** Keeps what is written while it is open. It stays the same object, since Scala's Console keeps the first it saw. */
    private static final class Capture extends OutputStream {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private boolean open;

        @Override
        public synchronized void write(int b) {
            if (open) {
                bytes.write(b);
            }
        }

        @Override
        public synchronized void write(byte[] b, int from, int length) {
            if (open) {
                bytes.write(b, from, length);
            }
        }

        synchronized void start() {
            bytes.reset();
            open = true;
        }

        synchronized void stop() {
            open = false;
        }

        synchronized String text() {
            return bytes.toString(StandardCharsets.UTF_8);
        }
    }

    private static int status;
    private static boolean exited;

    private static void exit(int code, String message) {
        if (!exited) {
            exited = true;
            status = code;
            if (message != null) {
                System.err.println(message);
            }
            OUT.stop();
            ERR.stop();
        }
        throw new Exited();
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(new PrintStream(OUT, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(ERR, true, StandardCharsets.UTF_8));
        Exit.setExitProcedure(ToolRunner::exit);
        Exit.setHaltProcedure(ToolRunner::exit);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode request = JSON.readTree(line);
            ObjectNode answer = request.has("call") ? call(request) : run(request);
            answers.write((JSON.writeValueAsString(answer) + "\n").getBytes(StandardCharsets.UTF_8));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    /** AdminCalls is found by its name: it does not compile against the releases before 3.1, whose tools run all the same. */
    private static ObjectNode call(JsonNode request) throws ReflectiveOperationException {
        return (ObjectNode) Class.forName("AdminCalls").getDeclaredMethod("answer", JsonNode.class).invoke(null, request);
    }

    private static ObjectNode run(JsonNode request) throws InterruptedException {
        List<String> words = new ArrayList<>();
        request.get("args").forEach(word -> words.add(word.asText()));
        status = 0;
        exited = false;
        OUT.start();
        ERR.start();
        Thread command = new Thread(() -> invoke(request.get("main").asText(), words.toArray(new String[0])), "main");
        command.start();
        command.join();
        OUT.stop();
        ERR.stop();
        return JSON.createObjectNode().put("status", status).put("stdout", OUT.text()).put("stderr", ERR.text());
    }

    private static void invoke(String main, String[] words) {
        try {
            Class.forName(main).getMethod("main", String[].class).invoke(null, (Object) words);
        } catch (InvocationTargetException e) {
            if (!exited) {
                e.getCause().printStackTrace();
                status = 1;
            }
        } catch (ReflectiveOperationException e) {
            e.printStackTrace();
            status = 1;
        }
    }
}
