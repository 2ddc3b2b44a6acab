// Calls every method of the Admin of @platformatic/kafka; takes the folder of its modules and the server's address.
'use strict'

const { createRequire } = require('node:module')
const { pathToFileURL } = require('node:url')
const [, , modules, address] = process.argv
const { Calls, until } = require('../calls.js')

function ownModule () {
  return createRequire(`${modules}/`).resolve('@platformatic/kafka')
}

async function main () {
  const {
    Admin, AclOperations, AclPermissionTypes, ConfigResourceTypes, FindCoordinatorKeyTypes, IncrementalAlterConfigOperationTypes,
    ResourcePatternTypes, ResourceTypes
  } = await import(pathToFileURL(ownModule()))
  const admin = new Admin({ clientId: 'calls', bootstrapBrokers: [address], retries: 1, timeout: 5000 })

  const acl = (resourceName, principal = 'User:alice') => ({
    resourceType: ResourceTypes.TOPIC,
    resourceName,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal,
    host: '*',
    operation: AclOperations.READ,
    permissionType: AclPermissionTypes.ALLOW
  })
  const filter = (name, principal) => {
    const { resourcePatternType, ...rest } = acl(name, principal)
    return { ...rest, patternTypeFilter: resourcePatternType, resourcePatternType }
  }
  let barriers = 0
  const settled = async () => {
    const name = `barrier-${barriers++}`
    const there = async () => (await admin.describeAcls({ filter: filter(name, 'User:barrier') })).length > 0
    await admin.createAcls({ creations: [acl(name, 'User:barrier')] })
    await until(there)
    await admin.deleteAcls({ filters: [filter(name, 'User:barrier')] })
    await until(async () => !(await there()))
  }

  const methods = Object.getOwnPropertyNames(Admin.prototype).filter(name => name !== 'constructor')
  const calls = new Calls(methods, settled)
  const ask = calls.ask.bind(calls)
  const change = calls.change.bind(calls)
  const topic = { resourceType: ConfigResourceTypes.TOPIC, resourceName: 'a' }
  const set = (name, value) => ({ name, value, configOperation: IncrementalAlterConfigOperationTypes.SET })

  await change('createTopics', () => admin.createTopics({ topics: ['a'], partitions: 2, replicas: 1 }))
  await change('createTopics: another', () => admin.createTopics({ topics: ['b'], partitions: 1, replicas: 1 }))
  await change('createTopics: that exist', () => admin.createTopics({ topics: ['a'], partitions: 1, replicas: 1 }))
  await change('createTopics: too many replicas', () => admin.createTopics({ topics: ['c'], partitions: 1, replicas: 2 }))
  await ask('listTopics', () => admin.listTopics())
  await change('createPartitions', () => admin.createPartitions({ topics: [{ name: 'a', count: 3, assignments: [{ brokerIds: [1] }] }] }))
  await change('createPartitions: fewer', () => admin.createPartitions({ topics: [{ name: 'a', count: 2, assignments: [] }] }))
  await change('deleteTopics', () => admin.deleteTopics({ topics: ['b'] }))
  await change('deleteTopics: unknown', () => admin.deleteTopics({ topics: ['none'] }))
  await ask('listOffsets', () => admin.listOffsets({ topics: [{ name: 'a', partitions: [{ partitionIndex: 0, timestamp: -1n }] }] }))
  await ask('deleteRecords', () => admin.deleteRecords({ topics: [{ name: 'a', partitions: [{ partition: 0, offset: 0n }] }] }))
  await ask('deleteRecords: beyond the end', () => admin.deleteRecords({ topics: [{ name: 'a', partitions: [{ partition: 0, offset: 5n }] }] }))
  await change('incrementalAlterConfigs', () => admin.incrementalAlterConfigs({ resources: [{ ...topic, configs: [set('retention.ms', '1000')] }] }))
  await change('incrementalAlterConfigs: an unknown key', () => admin.incrementalAlterConfigs({ resources: [{ ...topic, configs: [set('no.such.key', '1')] }] }))
  await change('alterConfigs', () => admin.alterConfigs({ resources: [{ ...topic, configs: [{ name: 'cleanup.policy', value: 'compact' }] }] }))
  await ask('describeConfigs', () => admin.describeConfigs({ resources: [topic] }))
  await ask('describeConfigs: unknown', () => admin.describeConfigs({ resources: [{ ...topic, resourceName: 'none' }] }))
  await change('createAcls', () => admin.createAcls({ creations: [acl('a')] }))
  await ask('describeAcls', () => admin.describeAcls({ filter: filter('a') }))
  await change('deleteAcls', () => admin.deleteAcls({ filters: [filter('a')] }))
  await change('alterClientQuotas', () => admin.alterClientQuotas({
    entries: [{ entities: [{ entityType: 'user', entityName: 'u' }], ops: [{ key: 'producer_byte_rate', value: 1024, remove: false }] }]
  }))
  await ask('describeClientQuotas', () => admin.describeClientQuotas({ components: [{ entityType: 'user', matchType: 0, match: 'u' }] }))
  await change('alterClientQuotas: removal', () => admin.alterClientQuotas({
    entries: [{ entities: [{ entityType: 'user', entityName: 'u' }], ops: [{ key: 'producer_byte_rate', value: 0, remove: true }] }]
  }))
  await ask('describeLogDirs', async () => {
    const found = await admin.describeLogDirs({ topics: [{ name: 'a', partitions: [0, 1] }] })
    return found.map(({ broker, results }) => [broker, results.map(each => each.topics)])
  })
  await ask('findCoordinator', () => admin.findCoordinator({ keyType: FindCoordinatorKeyTypes.GROUP, keys: ['g'] }))
  await change('alterConsumerGroupOffsets', () => admin.alterConsumerGroupOffsets({ groupId: 'g', topics: [{ name: 'a', partitionOffsets: [{ partition: 0, offset: 3n }] }] }))
  await ask('listConsumerGroupOffsets', () => admin.listConsumerGroupOffsets({ groups: ['g'] }))
  await ask('listGroups', () => admin.listGroups())
  await ask('describeGroups', () => admin.describeGroups({ groups: ['g'] }))
  await ask('describeGroups: unknown', () => admin.describeGroups({ groups: ['none'] }))
  await change('removeMembersFromConsumerGroup', () => admin.removeMembersFromConsumerGroup({ groupId: 'g', members: [{ memberId: 'none' }] }))
  await change('deleteConsumerGroupOffsets', () => admin.deleteConsumerGroupOffsets({ groupId: 'g', topics: [{ name: 'a', partitionIndexes: [0] }] }))
  await change('deleteGroups', () => admin.deleteGroups({ groups: ['g'] }))
  await change('deleteGroups: unknown', () => admin.deleteGroups({ groups: ['none'] }))
  await change('deleteTopics: the last', () => admin.deleteTopics({ topics: ['a'] }))
  calls.tellMissing()
}

main().then(() => process.exit(0))
