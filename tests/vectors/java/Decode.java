import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.Readable;

/** Decodes with Kafka's own classes: `class version hex` in; `end json`, `refused` or `absent` out, a line each. */
public final class Decode {
    private static final String PACKAGE = "org.apache.kafka.common.message.";

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "US-ASCII"));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ", 3);
            System.out.println(decode(parts[0], Short.parseShort(parts[1]), bytes(parts[2])));
        }
    }

    private static String decode(String name, short version, byte[] data) throws Exception {
        Class<?> kind;
        try {
            kind = Class.forName(PACKAGE + name);
        } catch (ClassNotFoundException error) {
            return "absent";
        }
        if (version < kind.getField("LOWEST_SUPPORTED_VERSION").getShort(null)
                || version > kind.getField("HIGHEST_SUPPORTED_VERSION").getShort(null)) {
            return "absent";
        }
        ByteBuffer buffer = ByteBuffer.wrap(data);
        Object message;
        try {
            message = kind.getConstructor(Readable.class, short.class)
                    .newInstance(new ByteBufferAccessor(buffer), version);
        } catch (InvocationTargetException refusal) {
            return "refused";
        }
        Method write = Class.forName(PACKAGE + name + "JsonConverter").getMethod("write", kind, short.class);
        JsonNode json = (JsonNode) write.invoke(null, message, version);
        return buffer.position() + " " + json;
    }

    private static byte[] bytes(String hex) {
        byte[] bytes = new byte[hex.length() / 2];
        for (int index = 0; index < bytes.length; index++) {
            bytes[index] = (byte) Integer.parseInt(hex.substring(2 * index, 2 * index + 2), 16);
        }
        return bytes;
    }
}
