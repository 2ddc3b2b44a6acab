package doorkeeper.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * The process that starts and stops servers for the tests: a line of JSON for each request and each reply.
 *
 * <p>It listens on the port of the system property {@code doorkeeper.launcher.port}.
 */
public final class ServerLauncher {
    /** A listener that each server has besides those of the test; its clients are a super user. */
    public static final String LISTENER = "HARNESS";

    private static final ObjectMapper JSON = new ObjectMapper();
    private static ServerLauncher shared;

    private final Socket socket;
    private final BufferedReader replies;

    private ServerLauncher() throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), Integer.getInteger("doorkeeper.launcher.port"));
        replies = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
    }

    public static synchronized ServerLauncher get() {
        try {
            if (shared == null) {
                shared = new ServerLauncher();
            }
            return shared;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Prepare a cluster, whose nodes share a store where there are to be several. Returns its number. */
    public int create(int nodes) {
        return ask(Map.of("op", "create", "nodes", nodes)).get("cluster").intValue();
    }

    /** Add a node, which is not started. */
    public void add(int cluster, int node, Map<String, String> properties) {
        ask(Map.of("op", "add", "cluster", cluster, "node", node, "properties", properties));
    }

    /** Start one node; returns the port of each of its listeners. */
    public JsonNode start(int cluster, int node) {
        return ask(Map.of("op", "start", "cluster", cluster, "node", node)).get("ports");
    }

    public void stop(int cluster, int node) {
        ask(Map.of("op", "stop", "cluster", cluster, "node", node));
    }

    /** Stop all nodes of a cluster and delete its store. */
    public void close(int cluster) {
        ask(Map.of("op", "close", "cluster", cluster));
    }

    private synchronized JsonNode ask(Map<String, ?> request) {
        try {
            socket.getOutputStream().write((JSON.writeValueAsString(request) + "\n").getBytes(StandardCharsets.UTF_8));
            String line = replies.readLine();
            if (line == null) {
                throw new IllegalStateException("the launcher has ended");
            }
            JsonNode reply = JSON.readTree(line);
            if (reply.has("error")) {
                throw new IllegalStateException(reply.get("error").textValue());
            }
            return reply;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
