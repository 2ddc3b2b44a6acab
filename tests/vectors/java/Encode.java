import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/** Encodes messages with Kafka's own classes: one `class version json` a line in, hex or a word why not out. */
public final class Encode {
    private static final String PACKAGE = "org.apache.kafka.common.message.";

    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ", 3);
            try {
                System.out.println(hex(encode(parts[0], Short.parseShort(parts[1]), mapper.readTree(parts[2]))));
            } catch (ClassNotFoundException error) {
                System.out.println("absent");
            } catch (InvocationTargetException error) {
                System.out.println("refused " + error.getCause());
            }
        }
    }

    private static byte[] encode(String name, short version, JsonNode json) throws Exception {
        Method read = Class.forName(PACKAGE + name + "JsonConverter").getMethod("read", JsonNode.class, short.class);
        Message message = (Message) read.invoke(null, json, version);
        if (version < message.lowestSupportedVersion() || version > message.highestSupportedVersion()) {
            throw new ClassNotFoundException(name);
        }
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.array();
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte value : bytes) {
            text.append(String.format("%02x", value));
        }
        return text.toString();
    }
}
