import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.config.ConfigDef;

/**
 * What a broker says of its configuration. One question a line, one answer a line, both JSON.
 *
 * {"ask": "keys"}                 every key: [type, default or null]
 * {"ask": "dynamic"}              the keys that may change while a broker runs, by set
 * {"ask": "jaas", "text": "..."}  the login modules, or null where the text is refused
 * {"ask": "check", "keys": {}}    null where a broker accepts the keys, else its error
 */
public class ConfigurationOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = questions.readLine()) != null; ) {
            JsonNode question = JSON.readTree(line);
            byte[] answer = JSON.writeValueAsBytes(answer(question));
            System.out.write(answer, 0, answer.length);
            System.out.write('\n');
            System.out.flush();
        }
    }

    private static Object answer(JsonNode question) throws Exception {
        switch (question.get("ask").asText()) {
            case "keys": return keys();
            case "dynamic": return dynamic();
            case "jaas": return jaas(question.get("text").asText());
            default: return check(question.get("keys"));
        }
    }

    private static Map<String, List<String>> keys() {
        Map<String, List<String>> rows = new TreeMap<>();
        for (ConfigDef.ConfigKey key : KafkaConfig.configDef().configKeys().values()) {
            boolean none = key.defaultValue == null || key.defaultValue == ConfigDef.NO_DEFAULT_VALUE;
            List<String> row = new ArrayList<>();
            row.add(key.type.name());
            row.add(none ? null : ConfigDef.convertToString(key.defaultValue, key.type));
            rows.put(key.name, row);
        }
        return rows;
    }

    /** Reads the sets by reflection: they are private, and not there in all releases. */
    private static Map<String, Object> dynamic() throws Exception {
        Class<?> rules = Class.forName("org.apache.kafka.server.config.DynamicBrokerConfig");
        Map<String, Object> sets = new TreeMap<>();
        for (Field field : rules.getDeclaredFields()) {
            if (Set.class.isAssignableFrom(field.getType())) {
                field.setAccessible(true);
                sets.put(field.getName(), new TreeSet<>((Set<?>) field.get(null)));
            }
        }
        return sets;
    }

    private static List<Object> jaas(String text) throws Exception {
        Constructor<?> made = Class.forName("org.apache.kafka.common.security.JaasConfig")
            .getDeclaredConstructor(String.class, String.class);
        made.setAccessible(true);
        try {
            List<Object> modules = new ArrayList<>();
            Configuration read = (Configuration) made.newInstance("context", text);
            for (AppConfigurationEntry entry : read.getAppConfigurationEntry("context")) {
                Map<String, Object> options = new HashMap<>(entry.getOptions());
                options.remove(null);
                String flag = entry.getControlFlag().toString().replaceAll(".* ", "");
                modules.add(List.of(entry.getLoginModuleName(), flag.toUpperCase(), options));
            }
            return modules;
        } catch (InvocationTargetException refused) {
            return null;
        }
    }

    private static String check(JsonNode keys) {
        Properties properties = new Properties();
        keys.fields().forEachRemaining(
            each -> properties.setProperty(each.getKey(), each.getValue().asText()));
        try {
            KafkaConfig.fromProps(properties);
            return null;
        } catch (RuntimeException refused) {
            return String.valueOf(refused.getMessage());
        }
    }
}
