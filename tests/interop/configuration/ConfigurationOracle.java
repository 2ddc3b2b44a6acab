import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.URIParameter;
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
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.JaasContext;

/**
 * What a broker says of its configuration. One question a line, one answer a line, both JSON.
 *
 * {"ask": "keys"}                 every key: [type, default or null]
 * {"ask": "dynamic"}              the keys that may change while a broker runs, by set
 * {"ask": "jaas", "text": "..."}  the login modules, or null where the text is refused
 * {"ask": "file", "text": "...", "names": []}  the modules of a JAAS file's sections, null for none;
 *                                 null where Java refuses the file
 * {"ask": "server", "listener": "...", "mechanism": "...", "text": "...", "keys": {}}
 *                                 the modules that a broker takes for a mechanism, or null
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
            case "file": return file(question.get("text").asText(), question.get("names"));
            case "server": return server(question);
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

    /** Reads a file as Java does for java.security.auth.login.config. */
    private static Map<String, Object> file(String text, JsonNode names) throws Exception {
        Path path = Files.createTempFile("jaas", ".conf");
        try {
            Files.writeString(path, text);
            Configuration read =
                Configuration.getInstance("JavaLoginConfig", new URIParameter(path.toUri()));
            Map<String, Object> sections = new TreeMap<>();
            for (JsonNode name : names) {
                AppConfigurationEntry[] found = read.getAppConfigurationEntry(name.asText());
                sections.put(name.asText(), found == null ? null : modules(found));
            }
            return sections;
        } catch (GeneralSecurityException | RuntimeException refused) {
            return null;
        } finally {
            Files.delete(path);
        }
    }

    /** Asks what a broker asks: the key, then the sections of the file. */
    private static List<Object> server(JsonNode question) throws Exception {
        Path path = Files.createTempFile("jaas", ".conf");
        try {
            Files.writeString(path, question.get("text").asText());
            Configuration.setConfiguration(
                Configuration.getInstance("JavaLoginConfig", new URIParameter(path.toUri())));
            Map<String, Object> configs = new HashMap<>();
            question.get("keys").fields().forEachRemaining(
                each -> configs.put(each.getKey(), new Password(each.getValue().asText())));
            ListenerName listener = new ListenerName(question.get("listener").asText());
            JaasContext context = JaasContext.loadServerContext(
                listener, question.get("mechanism").asText(), configs);
            return modules(context.configurationEntries().toArray(new AppConfigurationEntry[0]));
        } catch (RuntimeException refused) {
            return null;
        } finally {
            Files.delete(path);
        }
    }

    private static List<Object> modules(AppConfigurationEntry[] entries) {
        List<Object> modules = new ArrayList<>();
        for (AppConfigurationEntry entry : entries) {
            Map<String, Object> options = new HashMap<>(entry.getOptions());
            options.remove(null);
            String flag = entry.getControlFlag().toString().replaceAll(".* ", "");
            modules.add(List.of(entry.getLoginModuleName(), flag.toUpperCase(), options));
        }
        return modules;
    }

    private static List<Object> jaas(String text) throws Exception {
        Constructor<?> made = Class.forName("org.apache.kafka.common.security.JaasConfig")
            .getDeclaredConstructor(String.class, String.class);
        made.setAccessible(true);
        try {
            Configuration read = (Configuration) made.newInstance("context", text);
            return modules(read.getAppConfigurationEntry("context"));
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
