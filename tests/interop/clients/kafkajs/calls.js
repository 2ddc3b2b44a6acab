// Calls every method of kafkajs' admin; takes the folder of its modules and the server's address.
'use strict'

const [, , modules, address] = process.argv
const { Calls, until } = require('../calls.js')
const {
  Kafka, AclOperationTypes, AclPermissionTypes, AclResourceTypes, ConfigResourceTypes, ResourcePatternTypes, logLevel
} = require(`${modules}/node_modules/kafkajs`)

const admin = new Kafka({ brokers: [address], logLevel: logLevel.NOTHING, retry: { retries: 1 } }).admin()
const LOCAL = ['events', 'on', 'logger']

function acl (resourceName, principal = 'User:alice') {
  return {
    resourceType: AclResourceTypes.TOPIC,
    resourceName,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal,
    host: '*',
    operation: AclOperationTypes.READ,
    permissionType: AclPermissionTypes.ALLOW
  }
}

let barriers = 0

async function settled () {
  const mark = acl(`barrier-${barriers++}`, 'User:barrier')
  const there = async () => (await admin.describeAcls(mark)).resources.length > 0
  await admin.createAcls({ acl: [mark] })
  await until(there)
  await admin.deleteAcls({ filters: [mark] })
  await until(async () => !(await there()))
}

async function main () {
  const calls = new Calls(Object.keys(admin).filter(name => !LOCAL.includes(name)), settled)
  const ask = calls.ask.bind(calls)
  const change = calls.change.bind(calls)
  const topics = names => names.map(topic => ({ topic, numPartitions: 2, replicationFactor: 1 }))
  const topic = { type: ConfigResourceTypes.TOPIC, name: 'a' }

  await ask('connect', () => admin.connect())
  await change('createTopics', () => admin.createTopics({ topics: topics(['a', 'b']) }))
  await change('createTopics: that exist', () => admin.createTopics({ topics: topics(['a']) }))
  await change('createTopics: too many replicas', () => admin.createTopics({ topics: [{ topic: 'c', replicationFactor: 2 }] }))
  await ask('listTopics', async () => (await admin.listTopics()).filter(name => !name.startsWith('__')))
  await ask('fetchTopicMetadata', () => admin.fetchTopicMetadata({ topics: ['a'] }))
  await ask('fetchTopicMetadata: unknown', () => admin.fetchTopicMetadata({ topics: ['none'] }))
  await change('createPartitions', () => admin.createPartitions({ topicPartitions: [{ topic: 'a', count: 3 }] }))
  await change('createPartitions: fewer', () => admin.createPartitions({ topicPartitions: [{ topic: 'a', count: 2 }] }))
  await change('deleteTopics', () => admin.deleteTopics({ topics: ['b'] }))
  await change('deleteTopics: unknown', () => admin.deleteTopics({ topics: ['none'] }))
  await ask('describeCluster', async () => {
    const { controller, brokers } = await admin.describeCluster()
    return [controller, brokers.length]
  })
  await ask('fetchTopicOffsets', () => admin.fetchTopicOffsets('a'))
  await ask('fetchTopicOffsetsByTimestamp', () => admin.fetchTopicOffsetsByTimestamp('a', 1))
  await ask('deleteTopicRecords', () => admin.deleteTopicRecords({ topic: 'a', partitions: [{ partition: 0, offset: '0' }] }))
  await ask('deleteTopicRecords: beyond the end', () => admin.deleteTopicRecords({ topic: 'a', partitions: [{ partition: 0, offset: '5' }] }))
  await change('alterConfigs', () => admin.alterConfigs({ resources: [{ ...topic, configEntries: [{ name: 'retention.ms', value: '1000' }] }] }))
  await change('alterConfigs: an unknown key', () => admin.alterConfigs({ resources: [{ ...topic, configEntries: [{ name: 'no.such.key', value: '1' }] }] }))
  await ask('describeConfigs', () => admin.describeConfigs({ resources: [topic] }))
  await change('createAcls', () => admin.createAcls({ acl: [acl('a')] }))
  await ask('describeAcls', () => admin.describeAcls(acl('a')))
  await change('deleteAcls', () => admin.deleteAcls({ filters: [acl('a')] }))
  await change('alterPartitionReassignments', () => admin.alterPartitionReassignments({ topics: [{ topic: 'a', partitionAssignment: [{ partition: 0, replicas: [1] }] }] }))
  await change('alterPartitionReassignments: an unknown broker', () => admin.alterPartitionReassignments({ topics: [{ topic: 'a', partitionAssignment: [{ partition: 0, replicas: [7] }] }] }))
  await ask('listPartitionReassignments', () => admin.listPartitionReassignments({}))
  await change('setOffsets', () => admin.setOffsets({ groupId: 'g', topic: 'a', partitions: [{ partition: 0, offset: '3' }] }))
  await ask('fetchOffsets', () => admin.fetchOffsets({ groupId: 'g', topics: ['a'] }))
  await change('resetOffsets', () => admin.resetOffsets({ groupId: 'g', topic: 'a', earliest: true }))
  await ask('fetchOffsets: after the reset', () => admin.fetchOffsets({ groupId: 'g', topics: ['a'] }))
  await ask('listGroups', () => admin.listGroups())
  await ask('describeGroups', () => admin.describeGroups(['g', 'none']))
  await change('deleteGroups: unknown', () => admin.deleteGroups(['none']))
  await change('deleteGroups', () => admin.deleteGroups(['g']))
  await change('deleteTopics: the last', () => admin.deleteTopics({ topics: ['a'] }))
  await ask('disconnect', () => admin.disconnect())
  calls.tellMissing()
}

main().then(() => process.exit(0))
