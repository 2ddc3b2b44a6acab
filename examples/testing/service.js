// A service that writes an order, configured by its environment. With kafkajs: npm install kafkajs
const { Kafka, logLevel } = require("kafkajs");

async function main() {
  const { KAFKA_BOOTSTRAP_SERVERS, KAFKA_USER, KAFKA_PASSWORD } = process.env;
  const kafka = new Kafka({
    clientId: "orders",
    brokers: KAFKA_BOOTSTRAP_SERVERS.split(","),
    sasl: { mechanism: "plain", username: KAFKA_USER, password: KAFKA_PASSWORD },
    logLevel: logLevel.NOTHING,
  });
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  try {
    await producer.connect();
    await producer.send({ topic: "orders", messages: [{ value: "an order" }] });
  } finally {
    await producer.disconnect();
  }
}

main().catch((error) => {
  console.error(error.type || error.message);
  process.exit(error.type === "TOPIC_AUTHORIZATION_FAILED" ? 77 : 1);
});
