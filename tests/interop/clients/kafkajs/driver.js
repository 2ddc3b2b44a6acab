// Drives kafkajs: one conversation, as ../conversation.py describes it.
"use strict";

const { createRequire } = require("node:module");
const path = require("node:path");
const { performance } = require("node:perf_hooks");

// The package is installed in the folder that the test names, not beside this file.
const kafkajs = createRequire(path.join(process.argv[2], "package.json"))("kafkajs");
const {
  AclResourceTypes, AclOperationTypes, AclPermissionTypes, ResourcePatternTypes, ConfigResourceTypes, AssignerProtocol,
  Kafka, logLevel,
} = kafkajs;

const nameOf = (table, code) => Object.keys(table).find((name) => table[name] === code);
const own = (names) => names.filter((name) => !name.startsWith("__")).sort();
const rows = (found) => found.map((row) => JSON.stringify(row)).sort().map((row) => JSON.parse(row));

// kafkajs takes undefined, not null, for any.
const acl = ([type, name, pattern, principal, host, operation, permission]) => ({
  resourceType: AclResourceTypes[type],
  resourceName: name ?? undefined,
  resourcePatternType: ResourcePatternTypes[pattern],
  principal: principal ?? undefined,
  host: host ?? undefined,
  operation: AclOperationTypes[operation],
  permissionType: AclPermissionTypes[permission],
});

const words = (type, name, pattern, entry) => [
  nameOf(AclResourceTypes, type),
  name,
  nameOf(ResourcePatternTypes, pattern),
  entry.principal,
  entry.host,
  nameOf(AclOperationTypes, entry.operation),
  nameOf(AclPermissionTypes, entry.permissionType),
];

const member = (one) => {
  const assignment = AssignerProtocol.MemberAssignment.decode(one.memberAssignment);
  return {
    client_id: one.clientId,
    host: one.clientHost,
    topics: AssignerProtocol.MemberMetadata.decode(one.memberMetadata).topics,
    assignment: assignment.assignment,
  };
};

const operations = (admin) => ({
  async create_acls({ bindings }) {
    await admin.createAcls({ acl: bindings.map(acl) });
    return { created: rows(bindings), failed: [] };
  },
  async describe_acls({ wanted }) {
    const { resources } = await admin.describeAcls(acl(wanted));
    return rows(resources.flatMap((r) => r.acls.map((e) => words(r.resourceType, r.resourceName, r.resourcePatternType, e))));
  },
  async delete_acls({ filters }) {
    const { filterResponses } = await admin.deleteAcls({ filters: filters.map(acl) });
    const matching = filterResponses.flatMap((f) => f.matchingAcls);
    return rows(matching.map((e) => words(e.resourceType, e.resourceName, e.resourcePatternType, e)));
  },
  async describe_cluster() {
    const found = await admin.describeCluster();
    return {
      cluster_id: found.clusterId,
      controller: found.controller,
      nodes: found.brokers.map((b) => [b.nodeId, b.host, b.port]),
    };
  },
  async list_topics() {
    return own(await admin.listTopics());
  },
  async create_topics({ topics }) {
    const made = Object.entries(topics).map(([topic, numPartitions]) => ({ topic, numPartitions, replicationFactor: 1 }));
    await admin.createTopics({ topics: made, waitForLeaders: false });
    return null;
  },
  async delete_topics({ names }) {
    await admin.deleteTopics({ topics: names });
    return null;
  },
  async describe_topics({ names }) {
    const { topics } = await admin.fetchTopicMetadata({ topics: names });
    return Object.fromEntries(topics.map((t) => [t.name, { error: 0, partitions: t.partitions.length }]));
  },
  async list_groups() {
    return (await admin.listGroups()).groups.map((g) => g.groupId).sort();
  },
  async describe_groups({ names }) {
    const { groups } = await admin.describeGroups(names);
    return Object.fromEntries(groups.map((g) => [g.groupId, { state: g.state, members: g.members.map(member) }]));
  },
  async broker_configs({ keys }) {
    const resources = [{ type: ConfigResourceTypes.BROKER, name: "1", configNames: keys }];
    const found = (await admin.describeConfigs({ resources })).resources[0].configEntries;
    return Object.fromEntries(keys.map((key) => [key, found.find((e) => e.configName === key).configValue]));
  },
});

const failure = (error, began) => ({
  error: error.name,
  text: [error.message, ...(error.errors || []).map((e) => e.message)].join("; "),
  seconds: (performance.now() - began) / 1000,
  log: "",
});

const main = async () => {
  const input = [];
  for await (const piece of process.stdin) input.push(piece);
  const script = JSON.parse(Buffer.concat(input).toString());
  const sasl = script.user && { mechanism: "plain", username: script.user, password: script.password };
  const kafka = new Kafka({ brokers: [script.bootstrap], sasl: sasl || undefined, ssl: false, logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  const results = [];
  let began = performance.now();
  try {
    await admin.connect();
    const known = operations(admin);
    for (const [name, args] of script.do) {
      began = performance.now();
      try {
        results.push({ value: await known[name](args) });
      } catch (error) {
        results.push(failure(error, began));
      }
    }
  } catch (error) {
    results.push(failure(error, began));
  }
  await admin.disconnect();
  console.log(JSON.stringify({ results }));
};

main();
