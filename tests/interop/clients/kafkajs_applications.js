// Producers and consumers of each kind, with kafkajs. Takes the folder of its modules and the task;
// address, user and password are in the environment, as application.py has them.
'use strict'

const [, , modules, task] = process.argv
const { Kafka, PartitionAssigners, logLevel } = require(`${modules}/node_modules/kafkajs`)

const TOPIC = 'orders'
const GROUP = 'readers'
const LIMIT_MS = 15000

const kafka = new Kafka({
  brokers: [process.env.KAFKA_BOOTSTRAP_SERVERS],
  logLevel: logLevel.NOTHING,
  retry: { retries: 1 },
  sasl: { mechanism: 'plain', username: process.env.KAFKA_USER, password: process.env.KAFKA_PASSWORD }
})

async function produce (config) {
  const producer = kafka.producer(config)
  await producer.connect()
  try {
    await producer.send({ topic: TOPIC, messages: [{ value: 'an order' }] })
  } finally {
    await producer.disconnect()
  }
}

// kafkajs calls its assignor by a name of its own; this is what Java, librdkafka and sarama call it.
function roundRobin (context) {
  const own = PartitionAssigners.roundRobin(context)
  return { ...own, name: 'roundrobin', protocol: topics => ({ ...own.protocol(topics), name: 'roundrobin' }) }
}

async function consume ({ assigned, taken, ends }) {
  const consumer = kafka.consumer({
    groupId: GROUP,
    partitionAssigners: [roundRobin],
    sessionTimeout: 6000,
    heartbeatInterval: 500,
    maxWaitTimeInMs: 500
  })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => assigned(payload.memberAssignment[TOPIC] || []))
  const crashed = new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => { if (!payload.restart) reject(payload.error) })
  })
  try {
    await consumer.connect()
    await consumer.subscribe({ topics: [TOPIC], fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ topic, partition, message }) => {
        const value = String(message.value)
        await taken(value, () => consumer.commitOffsets([{ topic, partition, offset: String(BigInt(message.offset) + 1n) }]))
      }
    })
    await Promise.race([crashed, ends])
  } finally {
    await consumer.disconnect()
  }
}

const tasks = {
  producer: () => produce({ idempotent: false }),
  idempotent_producer: () => produce({ idempotent: true }),

  async consumer () {
    let end
    const ends = new Promise((resolve, reject) => {
      end = resolve
      setTimeout(() => reject(new Error('no record')), LIMIT_MS).unref()
    })
    await consume({
      assigned: () => {},
      taken: async (value, commit) => {
        await commit()
        end()
      },
      ends
    })
  },

  // Tells its partitions and its records until SIGTERM, after which it leaves the group.
  async member () {
    const tell = line => process.stdout.write(JSON.stringify(line) + '\n')
    await consume({
      assigned: partitions => tell({ assigned: [...partitions].sort((a, b) => a - b) }),
      taken: async (value, commit) => {
        tell({ read: value })
        await commit()
      },
      ends: new Promise(resolve => process.on('SIGTERM', resolve))
    })
  }
}

tasks[task]().then(() => process.exit(0), error => {
  process.stderr.write(`${error.name}: ${error.message}\n`)
  process.exit(1)
})
