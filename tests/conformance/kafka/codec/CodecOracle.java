import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.requests.RequestHeader;

/**
 * Answers what Kafka's own generated message classes make of values and bytes.
 *
 * <p>Each line of standard input is a JSON array of questions, answered by one line, a JSON array of answers:
 *
 * <pre>
 * ["versions", class]                   -> [lowest, highest]
 * ["defaults", class]                   -> values: all fields of a new message
 * ["encode", class, version, values]    -> hex
 * ["decode", class, version, hex]       -> {"end": n, "values": {...}, "again": hex}
 * ["header", hex]                       -> {"end": n, "values": {...}}     a request header of any API
 * ["header versions", key, version]     -> [of the request, of the response]
 * </pre>
 *
 * What Kafka refuses is answered by {"refused": text}. Fields shows how values are written down.
 */
public final class CodecOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String PACKAGE = "org.apache.kafka.common.message.";

    private CodecOracle() {}

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ArrayNode found = JSON.createArrayNode();
            for (JsonNode question : JSON.readTree(line)) {
                found.add(answer(question));
            }
            answers.write((JSON.writeValueAsString(found) + "\n").getBytes(StandardCharsets.UTF_8));
            answers.flush();
        }
    }

    private static JsonNode answer(JsonNode question) throws ReflectiveOperationException {
        try {
            switch (question.get(0).asText()) {
                case "versions":
                    return versions(kind(question));
                case "defaults":
                    return Fields.all(kind(question).getConstructor().newInstance());
                case "encode":
                    return encoded(question);
                case "decode":
                    return decoded(question);
                case "header":
                    return header(HexFormat.of().parseHex(question.get(1).asText()));
                case "header versions":
                    return headerVersions(question.get(1).asInt(), (short) question.get(2).asInt());
                default:
                    throw new IllegalStateException(question.toString());
            }
        } catch (InvocationTargetException e) {
            return refused(e.getCause());
        } catch (RuntimeException e) {
            return refused(e);
        }
    }

    private static ObjectNode refused(Throwable e) {
        return JSON.createObjectNode().put("refused", e.toString());
    }

    private static Class<?> kind(JsonNode question) throws ClassNotFoundException {
        return Class.forName(PACKAGE + question.get(1).asText());
    }

    private static JsonNode versions(Class<?> kind) throws ReflectiveOperationException {
        return JSON.createArrayNode()
                .add(kind.getField("LOWEST_SUPPORTED_VERSION").getShort(null))
                .add(kind.getField("HIGHEST_SUPPORTED_VERSION").getShort(null));
    }

    private static JsonNode encoded(JsonNode question) throws ReflectiveOperationException {
        Message message = (Message) kind(question).getConstructor().newInstance();
        Fields.fill(message, question.get(3));
        return JSON.getNodeFactory().textNode(hex(message, (short) question.get(2).asInt()));
    }

    private static JsonNode decoded(JsonNode question) throws ReflectiveOperationException {
        short version = (short) question.get(2).asInt();
        ByteBuffer buffer = ByteBuffer.wrap(HexFormat.of().parseHex(question.get(3).asText()));
        Message message = (Message) kind(question)
                .getConstructor(Readable.class, short.class)
                .newInstance(new ByteBufferAccessor(buffer), version);
        ObjectNode answer = JSON.createObjectNode().put("end", buffer.position());
        answer.set("values", Fields.set(message));
        try {
            answer.put("again", hex(message, version));
        } catch (RuntimeException e) {
            answer.set("again", refused(e));
        }
        return answer;
    }

    private static String hex(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        if (buffer.hasRemaining()) {
            throw new IllegalStateException("the size was wrong by " + buffer.remaining());
        }
        return HexFormat.of().formatHex(buffer.array());
    }

    private static JsonNode header(byte[] frame) throws ReflectiveOperationException {
        ByteBuffer buffer = ByteBuffer.wrap(frame);
        RequestHeaderData data = RequestHeader.parse(buffer).data();
        ObjectNode answer = JSON.createObjectNode().put("end", buffer.position());
        answer.set("values", Fields.set(data));
        return answer;
    }

    private static JsonNode headerVersions(int key, short version) {
        ApiKeys api = ApiKeys.forId(key);
        return JSON.createArrayNode().add(api.requestHeaderVersion(version)).add(api.responseHeaderVersion(version));
    }
}
