import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collections;
import java.util.Properties;
import java.util.StringJoiner;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Produces one record and polls until it is there, with default settings. For each number in a line
 * of its input one line: a list of as many times, in seconds.
 *
 * <p>Arguments: the server's address, the topic, the group.
 */
public final class ProduceAndPoll {
    private static final long LIMIT_NS = 60_000_000_000L;

    private ProduceAndPoll() {}

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        Properties reading = new Properties();
        reading.putAll(properties);
        reading.put("group.id", arguments[2]);
        reading.put("auto.offset.reset", "earliest");
        ByteArraySerializer bytes = new ByteArraySerializer();
        ByteArrayDeserializer read = new ByteArrayDeserializer();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties, bytes, bytes);
                KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(reading, read, read)) {
            consumer.subscribe(Collections.singleton(arguments[1]));
            for (String line; (line = lines.readLine()) != null; ) {
                StringJoiner seconds = new StringJoiner(", ", "[", "]");
                for (int left = Integer.parseInt(line.trim()); left > 0; left--) {
                    long begin = System.nanoTime();
                    producer.send(new ProducerRecord<>(arguments[1], new byte[100])).get();
                    while (consumer.poll(Duration.ofSeconds(1)).isEmpty()) {
                        if (System.nanoTime() - begin > LIMIT_NS) {
                            throw new IllegalStateException("no record in a minute");
                        }
                    }
                    seconds.add(String.valueOf((System.nanoTime() - begin) / 1e9));
                }
                System.out.println(seconds);
            }
        }
    }
}
