import java.util.Arrays;
import java.util.Collection;
import java.util.Optional;
import java.util.StringJoiner;

/**
 * What a broker of the release on the class path lists in ApiVersions, as one line of JSON:
 * {"apis": {"0": [0, 9]}, "features": {"metadata.version": [1, 7]}}
 *
 * Before 3.3 a broker with ZooKeeper, from then on one without. By reflection: no two releases have
 * the same methods.
 */
public class VersionsOracle {
    private static final String PROTOCOL = "org.apache.kafka.common.protocol.ApiKeys";
    private static final String LISTENERS =
        "org.apache.kafka.common.message.ApiMessageType$ListenerType";
    private static final String METADATA = "org.apache.kafka.server.common.MetadataVersion";

    public static void main(String[] arguments) throws Exception {
        Optional<Class<?>> metadata = find(METADATA);
        StringJoiner apis = new StringJoiner(", ");
        Optional<Object> listener = listener(metadata.isPresent());
        for (Object key : keys(listener)) {
            Optional<short[]> range = range(key, listener);
            if (range.isPresent()) {
                int id = ((Number) key.getClass().getField("id").get(key)).intValue();
                apis.add("\"" + id + "\": " + Arrays.toString(range.get()));
            }
        }
        StringJoiner features = new StringJoiner(", ");
        if (metadata.isPresent()) {
            addFeatures(metadata.get(), features);
        }
        System.out.println("{\"apis\": {" + apis + "}, \"features\": {" + features + "}}");
    }

    /** The kind of listener, where the release has kinds. */
    private static Optional<Object> listener(boolean isKraft) throws Exception {
        Optional<Class<?>> type = find(LISTENERS);
        if (!type.isPresent()) {
            return Optional.empty();
        }
        return Optional.of(type.get().getField(isKraft ? "BROKER" : "ZK_BROKER").get(null));
    }

    private static Collection<?> keys(Optional<Object> listener) throws Exception {
        Class<?> type = Class.forName(PROTOCOL);
        if (listener.isPresent()) {
            return (Collection<?>) type.getMethod("apisForListener", listener.get().getClass())
                .invoke(null, listener.get());
        }
        try {
            return (Collection<?>) type.getMethod("enabledApis").invoke(null);
        } catch (NoSuchMethodException error) {
            return Arrays.asList(type.getEnumConstants());
        }
    }

    private static Optional<short[]> range(Object key, Optional<Object> listener) throws Exception {
        Class<?> type = key.getClass();
        Object row;
        try {
            row = type.getMethod(
                    "toApiVersionForApiResponse", boolean.class, listener.get().getClass())
                .invoke(key, false, listener.get());
        } catch (NoSuchMethodException | java.util.NoSuchElementException error) {
            try {
                row = type.getMethod("toApiVersion", boolean.class).invoke(key, false);
            } catch (NoSuchMethodException older) {
                return Optional.of(new short[] {
                    (short) type.getMethod("oldestVersion").invoke(key),
                    (short) type.getMethod("latestVersion").invoke(key)});
            }
        }
        Optional<?> found = (Optional<?>) row;
        if (!found.isPresent()) {
            return Optional.empty();
        }
        Object version = found.get();
        return Optional.of(new short[] {
            (short) version.getClass().getMethod("minVersion").invoke(version),
            (short) version.getClass().getMethod("maxVersion").invoke(version)});
    }

    /** Adds the levels of the features that Doorkeeper has: the lowest, and that of a new cluster. */
    private static void addFeatures(Class<?> metadata, StringJoiner features) throws Exception {
        Object lowest = field(metadata, "MINIMUM_VERSION", "MINIMUM_KRAFT_VERSION");
        Object highest;
        try {
            highest = metadata.getMethod("latestProduction").invoke(null);
        } catch (NoSuchMethodException error) {
            highest = metadata.getMethod("latest").invoke(null);
        }
        features.add("\"metadata.version\": [" + level(lowest) + ", " + level(highest) + "]");
        Optional<Class<?>> others = find("org.apache.kafka.server.common.Feature");
        if (others.isPresent()) {
            Object feature = others.get().getField("TRANSACTION_VERSION").get(null);
            Object level = others.get().getMethod("defaultLevel", metadata).invoke(feature, highest);
            features.add("\"transaction.version\": [0, " + level + "]");
        }
    }

    private static Object field(Class<?> type, String... names) throws Exception {
        for (String name : names) {
            try {
                return type.getField(name).get(null);
            } catch (NoSuchFieldException error) {
                continue;
            }
        }
        throw new NoSuchFieldException(String.join(" or ", names));
    }

    private static short level(Object version) throws Exception {
        return (short) version.getClass().getMethod("featureLevel").invoke(version);
    }

    private static Optional<Class<?>> find(String name) {
        try {
            return Optional.of(Class.forName(name));
        } catch (ClassNotFoundException error) {
            return Optional.empty();
        }
    }
}
