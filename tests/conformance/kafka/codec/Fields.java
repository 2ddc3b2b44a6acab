import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.types.RawTaggedField;

/**
 * The fields of Kafka's messages as JSON, and back, whatever the version.
 *
 * <p>A struct is an object of its fields that differ from those of a new one; bytes and ids are hex; "_tags" are the
 * unknown tagged fields, pairs of tag and hex. Kafka's own JSON converters know neither unknown tags nor fields that a
 * version lacks.
 */
final class Fields {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String TAGS = "_unknownTaggedFields";
    private static final Map<Class<?>, List<Field>> KNOWN = new HashMap<>();
    private static final Map<Class<?>, ObjectNode> DEFAULTS = new HashMap<>();

    private Fields() {}

    /** Return all fields of a struct. */
    static ObjectNode all(Object struct) throws ReflectiveOperationException {
        ObjectNode found = JSON.createObjectNode();
        for (Field field : fields(struct.getClass())) {
            found.set(field.getName(), json(field.get(struct)));
        }
        return found;
    }

    /** Return the fields of a struct that differ from those of a new one. */
    static ObjectNode set(Object struct) throws ReflectiveOperationException {
        ObjectNode defaults = DEFAULTS.get(struct.getClass());
        if (defaults == null) {
            defaults = all(struct.getClass().getConstructor().newInstance());
            DEFAULTS.put(struct.getClass(), defaults);
        }
        ObjectNode found = JSON.createObjectNode();
        for (Field field : fields(struct.getClass())) {
            JsonNode value = json(field.get(struct));
            if (!value.equals(defaults.get(field.getName()))) {
                found.set(field.getName(), value);
            }
        }
        List<RawTaggedField> tags = ((Message) struct).unknownTaggedFields();
        if (!tags.isEmpty()) {
            ArrayNode pairs = found.putArray("_tags");
            tags.forEach(tag -> pairs.addArray().add(tag.tag()).add(HexFormat.of().formatHex(tag.data())));
        }
        return found;
    }

    /** Set fields of a struct; a field that it does not have is refused with "no field NAME". */
    static void fill(Object struct, JsonNode values) throws ReflectiveOperationException {
        Map<String, Field> known = new HashMap<>();
        fields(struct.getClass()).forEach(field -> known.put(field.getName(), field));
        for (Map.Entry<String, JsonNode> entry : values.properties()) {
            if (entry.getKey().equals("_tags")) {
                List<RawTaggedField> tags = ((Message) struct).unknownTaggedFields();
                entry.getValue().forEach(pair -> tags.add(
                        new RawTaggedField(pair.get(0).asInt(), HexFormat.of().parseHex(pair.get(1).asText()))));
                continue;
            }
            Field field = known.get(entry.getKey());
            if (field == null) {
                throw new IllegalArgumentException("no field " + entry.getKey());
            }
            field.set(struct, value(field.getType(), field.getGenericType(), entry.getValue()));
        }
    }

    private static List<Field> fields(Class<?> kind) {
        return KNOWN.computeIfAbsent(kind, missing -> {
            List<Field> found = new ArrayList<>();
            for (Field field : kind.getDeclaredFields()) {
                // An element of a hashed collection also keeps its neighbours there.
                boolean neighbour = field.getName().equals("next") || field.getName().equals("prev");
                if (!Modifier.isStatic(field.getModifiers()) && !neighbour && !field.getName().equals(TAGS)) {
                    field.setAccessible(true);
                    found.add(field);
                }
            }
            return found;
        });
    }

    private static JsonNode json(Object value) throws ReflectiveOperationException {
        if (value instanceof Message) {
            return set(value);
        }
        if (value instanceof Collection) {
            ArrayNode items = JSON.createArrayNode();
            for (Object item : (Collection<?>) value) {
                items.add(json(item));
            }
            return items;
        }
        if (value instanceof byte[]) {
            return JSON.valueToTree(HexFormat.of().formatHex((byte[]) value));
        }
        if (value != null && value.getClass().getSimpleName().equals("MemoryRecords")) {
            // The class has another package in each of the releases.
            return json(value.getClass().getMethod("buffer").invoke(value));
        }
        if (value instanceof ByteBuffer) {
            ByteBuffer view = ((ByteBuffer) value).duplicate();
            byte[] bytes = new byte[view.remaining()];
            view.get(bytes);
            return JSON.valueToTree(HexFormat.of().formatHex(bytes));
        }
        if (value instanceof Uuid) {
            Uuid id = (Uuid) value;
            return JSON.valueToTree(String.format("%016x%016x", id.getMostSignificantBits(), id.getLeastSignificantBits()));
        }
        if (value instanceof Double) {
            return JSON.valueToTree(String.format("%016x", Double.doubleToRawLongBits((Double) value)));
        }
        return value instanceof Number
                ? JSON.getNodeFactory().numberNode(((Number) value).longValue())
                : JSON.valueToTree(value);
    }

    private static Object value(Class<?> kind, Type type, JsonNode json) throws ReflectiveOperationException {
        if (json.isNull()) {
            return null;
        }
        if (kind == List.class || Collection.class.isAssignableFrom(kind)) {
            return collection(kind, type, json);
        }
        if (Message.class.isAssignableFrom(kind)) {
            Object struct = kind.getConstructor().newInstance();
            fill(struct, json);
            return struct;
        }
        switch (kind.getSimpleName()) {
            case "byte":
            case "Byte":
                return (byte) json.asInt();
            case "short":
            case "Short":
                return (short) json.asInt();
            case "int":
            case "Integer":
                return json.asInt();
            case "long":
            case "Long":
                return json.asLong();
            case "double":
            case "Double":
                return Double.longBitsToDouble(Long.parseUnsignedLong(json.asText(), 16));
            case "boolean":
                return json.asBoolean();
            case "String":
                return json.asText();
            case "byte[]":
                return HexFormat.of().parseHex(json.asText());
            case "ByteBuffer":
                return ByteBuffer.wrap(HexFormat.of().parseHex(json.asText()));
            case "BaseRecords":
                return Class.forName(kind.getPackageName() + ".MemoryRecords")
                        .getMethod("readableRecords", ByteBuffer.class)
                        .invoke(null, ByteBuffer.wrap(HexFormat.of().parseHex(json.asText())));
            case "Uuid":
                ByteBuffer id = ByteBuffer.wrap(HexFormat.of().parseHex(json.asText()));
                return new Uuid(id.getLong(), id.getLong());
            default:
                throw new IllegalStateException(kind.toString());
        }
    }

    private static Object collection(Class<?> kind, Type type, JsonNode json) throws ReflectiveOperationException {
        Type described = kind == List.class ? type : kind.getGenericSuperclass();
        Class<?> element = (Class<?>) ((ParameterizedType) described).getActualTypeArguments()[0];
        @SuppressWarnings("unchecked")
        Collection<Object> items = kind == List.class
                ? new ArrayList<>()
                : (Collection<Object>) kind.getConstructor().newInstance();
        for (JsonNode item : json) {
            items.add(value(element, element, item));
        }
        return items;
    }
}
