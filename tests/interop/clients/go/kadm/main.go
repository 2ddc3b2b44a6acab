// Calls every method of kadm, the administrator's client of franz-go; takes the server's address.
package main

import (
	"context"
	"os"
	"reflect"
	"time"

	"calls/calls"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func topics(name string, partitions ...int32) kadm.TopicsSet {
	var set kadm.TopicsSet
	set.Add(name, partitions...)
	return set
}

func offsets(rows ...kadm.Offset) kadm.Offsets {
	var all kadm.Offsets
	for _, row := range rows {
		all.Add(row)
	}
	return all
}

func at(topic string, partition int32, offset int64) kadm.Offset {
	return kadm.Offset{Topic: topic, Partition: partition, At: offset, LeaderEpoch: -1}
}

func acls(topic, principal string) *kadm.ACLBuilder {
	return kadm.NewACLs().Topics(topic).ResourcePatternType(kadm.ACLPatternLiteral).
		Allow(principal).AllowHosts("*").Operations(kadm.OpRead)
}

func main() {
	ctx := context.Background()
	client := calls.Must(kgo.NewClient(
		kgo.SeedBrokers(os.Args[1]), kgo.RequestRetries(1), kgo.MetadataMinAge(10*time.Millisecond),
	))
	admin := kadm.NewClient(client)
	barrier := acls("barrier", "User:barrier")
	settled := func() {
		there := func() bool { return len(calls.Must(admin.DescribeACLs(ctx, barrier))[0].Described) > 0 }
		calls.Must(admin.CreateACLs(ctx, barrier))
		calls.Until(there)
		calls.Must(admin.DeleteACLs(ctx, barrier))
		calls.Until(func() bool { return !there() })
	}
	all := calls.New(reflect.TypeOf(admin), settled)
	ask := func(name string, call func() (any, error)) { all.Ask(name, call) }
	change := func(name string, call func() (any, error)) { all.Change(name, call) }

	unknown := map[string]*string{"no.such.key": kadm.StringPtr("1")}
	change("CreateTopics", func() (any, error) { return calls.One(admin.CreateTopics(ctx, 2, 1, nil, "a", "b")) })
	change("CreateTopics: that exist", func() (any, error) { return calls.One(admin.CreateTopics(ctx, 2, 1, nil, "a")) })
	change("CreateTopic", func() (any, error) { return calls.One(admin.CreateTopic(ctx, 1, 1, nil, "c")) })
	change("CreateTopic: too many replicas", func() (any, error) { return calls.One(admin.CreateTopic(ctx, 1, 2, nil, "d")) })
	change("CreateTopic: an unknown configuration", func() (any, error) {
		return calls.One(admin.CreateTopic(ctx, 1, 1, unknown, "d"))
	})
	ask("ValidateCreateTopics", func() (any, error) { return calls.One(admin.ValidateCreateTopics(ctx, 1, 1, nil, "d")) })
	ask("ListTopics", func() (any, error) { return calls.One(admin.ListTopics(ctx)) })
	ask("ListTopicsWithInternal", func() (any, error) { return calls.One(admin.ListTopicsWithInternal(ctx, "a", "none")) })
	ask("Metadata", func() (any, error) { return calls.One(admin.Metadata(ctx, "a")) })
	ask("BrokerMetadata", func() (any, error) { return calls.One(admin.BrokerMetadata(ctx)) })
	ask("ListBrokers", func() (any, error) { return calls.One(admin.ListBrokers(ctx)) })
	change("CreatePartitions", func() (any, error) { return calls.One(admin.CreatePartitions(ctx, 1, "a")) })
	change("UpdatePartitions", func() (any, error) { return calls.One(admin.UpdatePartitions(ctx, 4, "a")) })
	change("UpdatePartitions: fewer", func() (any, error) { return calls.One(admin.UpdatePartitions(ctx, 2, "a")) })
	ask("ValidateCreatePartitions", func() (any, error) { return calls.One(admin.ValidateCreatePartitions(ctx, 1, "a")) })
	ask("ValidateUpdatePartitions", func() (any, error) { return calls.One(admin.ValidateUpdatePartitions(ctx, 9, "a", "none")) })
	change("DeleteTopics", func() (any, error) { return calls.One(admin.DeleteTopics(ctx, "b", "none")) })
	change("DeleteTopic", func() (any, error) { return calls.One(admin.DeleteTopic(ctx, "c")) })
	change("DeleteTopic: unknown", func() (any, error) { return calls.One(admin.DeleteTopic(ctx, "none")) })

	set := func(name, value string) []kadm.AlterConfig {
		return []kadm.AlterConfig{{Op: kadm.SetConfig, Name: name, Value: &value}}
	}
	change("AlterTopicConfigs", func() (any, error) {
		return calls.One(admin.AlterTopicConfigs(ctx, set("retention.ms", "1000"), "a"))
	})
	change("AlterTopicConfigs: an unknown key", func() (any, error) {
		return calls.One(admin.AlterTopicConfigs(ctx, set("no.such.key", "1"), "a"))
	})
	change("AlterTopicConfigsState", func() (any, error) {
		return calls.One(admin.AlterTopicConfigsState(ctx, set("cleanup.policy", "compact"), "a"))
	})
	ask("ValidateAlterTopicConfigs", func() (any, error) {
		return calls.One(admin.ValidateAlterTopicConfigs(ctx, set("retention.ms", "often"), "a"))
	})
	ask("ValidateAlterTopicConfigsState", func() (any, error) {
		return calls.One(admin.ValidateAlterTopicConfigsState(ctx, set("retention.ms", "1"), "a"))
	})
	ask("DescribeTopicConfigs", func() (any, error) { return calls.One(admin.DescribeTopicConfigs(ctx, "a", "none")) })
	change("AlterBrokerConfigs", func() (any, error) {
		return calls.One(admin.AlterBrokerConfigs(ctx, set("max.connections.per.ip", "500"), 1))
	})
	change("AlterBrokerConfigs: of the cluster", func() (any, error) {
		return calls.One(admin.AlterBrokerConfigs(ctx, set("max.connections.per.ip", "600")))
	})
	ask("DescribeBrokerConfigs", func() (any, error) { return calls.One(admin.DescribeBrokerConfigs(ctx)) })
	change("AlterBrokerConfigsState", func() (any, error) {
		return calls.One(admin.AlterBrokerConfigsState(ctx, set("max.connections.per.ip", "700"), 1))
	})
	ask("ValidateAlterBrokerConfigs", func() (any, error) {
		return calls.One(admin.ValidateAlterBrokerConfigs(ctx, set("node.id", "7"), 1))
	})
	ask("ValidateAlterBrokerConfigsState", func() (any, error) {
		return calls.One(admin.ValidateAlterBrokerConfigsState(ctx, set("max.connections.per.ip", "x"), 1))
	})
	ask("ListConfigResources", func() (any, error) {
		return calls.One(admin.ListConfigResources(ctx, kadm.ConfigResourceBroker))
	})

	change("CreateACLs", func() (any, error) { return calls.One(admin.CreateACLs(ctx, acls("a", "User:alice"))) })
	ask("DescribeACLs", func() (any, error) { return calls.One(admin.DescribeACLs(ctx, acls("a", "User:alice"))) })
	change("DeleteACLs", func() (any, error) { return calls.One(admin.DeleteACLs(ctx, acls("a", "User:alice"))) })

	ask("ListStartOffsets", func() (any, error) { return calls.One(admin.ListStartOffsets(ctx, "a")) })
	ask("ListEndOffsets", func() (any, error) { return calls.One(admin.ListEndOffsets(ctx, "a")) })
	ask("ListEndOffsets: unknown", func() (any, error) { return calls.One(admin.ListEndOffsets(ctx, "none")) })
	ask("ListCommittedOffsets", func() (any, error) { return calls.One(admin.ListCommittedOffsets(ctx, "a")) })
	ask("ListOffsetsAfterMilli", func() (any, error) { return calls.One(admin.ListOffsetsAfterMilli(ctx, 1, "a")) })
	ask("ListMaxTimestampOffsets", func() (any, error) { return calls.One(admin.ListMaxTimestampOffsets(ctx, "a")) })
	ask("ListLocalLogStartOffsets", func() (any, error) { return calls.One(admin.ListLocalLogStartOffsets(ctx, "a")) })
	ask("ListLatestRemoteOffsets", func() (any, error) { return calls.One(admin.ListLatestRemoteOffsets(ctx, "a")) })
	epochs := kadm.OffsetForLeaderEpochRequest{"a": {0: 0}, "none": {0: 0}}
	ask("OffsetForLeaderEpoch", func() (any, error) { return calls.One(admin.OffsetForLeaderEpoch(ctx, epochs)) })
	ask("OffetForLeaderEpoch", func() (any, error) { return calls.One(admin.OffetForLeaderEpoch(ctx, epochs)) })
	ask("DeleteRecords", func() (any, error) {
		return calls.One(admin.DeleteRecords(ctx, offsets(at("a", 0, 0), at("a", 1, 5))))
	})
	ask("DescribeProducers", func() (any, error) { return calls.One(admin.DescribeProducers(ctx, topics("a", 0))) })
	change("ElectLeaders", func() (any, error) {
		return calls.One(admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, topics("a", 0, 9)))
	})
	change("AlterPartitionAssignments", func() (any, error) {
		moves := kadm.AlterPartitionAssignmentsReq{"a": {0: {1}, 1: {7}, 2: nil}}
		return calls.One(admin.AlterPartitionAssignments(ctx, moves))
	})
	ask("ListPartitionReassignments", func() (any, error) {
		return calls.One(admin.ListPartitionReassignments(ctx, topics("a", 0)))
	})
	ask("DescribeAllLogDirs", func() (any, error) { return calls.One(admin.DescribeAllLogDirs(ctx, topics("a", 0))) })
	ask("DescribeBrokerLogDirs", func() (any, error) { return calls.One(admin.DescribeBrokerLogDirs(ctx, 1, topics("a", 0))) })
	elsewhere := kadm.AlterReplicaLogDirsReq{"/no/such/folder": topics("a", 0)}
	ask("AlterAllReplicaLogDirs", func() (any, error) { return calls.One(admin.AlterAllReplicaLogDirs(ctx, elsewhere)) })
	ask("AlterBrokerReplicaLogDirs", func() (any, error) {
		return calls.One(admin.AlterBrokerReplicaLogDirs(ctx, 1, elsewhere))
	})

	change("CommitOffsets", func() (any, error) {
		return calls.One(admin.CommitOffsets(ctx, "g", offsets(at("a", 0, 3), at("a", 1, 4))))
	})
	change("CommitOffsets: of an unknown partition", func() (any, error) {
		return calls.One(admin.CommitOffsets(ctx, "g", offsets(at("a", 9, 3))))
	})
	change("CommitAllOffsets", func() (any, error) {
		return calls.None(admin.CommitAllOffsets(ctx, "g", offsets(at("a", 2, 5))))
	})
	byID := func(offset int64) kadm.OffsetsByID {
		var all kadm.OffsetsByID
		row := at("a", 0, offset)
		row.TopicID = calls.Must(admin.ListTopics(ctx, "a"))["a"].ID
		all.Add(row)
		return all
	}
	change("CommitOffsetsByID", func() (any, error) {
		return named(admin.CommitOffsetsByID(ctx, "g", byID(6)))
	})
	change("CommitAllOffsetsByID", func() (any, error) { return calls.None(admin.CommitAllOffsetsByID(ctx, "g", byID(7))) })
	ask("FetchOffsets", func() (any, error) { return calls.One(admin.FetchOffsets(ctx, "g")) })
	ask("FetchOffsetsByID", func() (any, error) { return named(admin.FetchOffsetsByID(ctx, "g")) })
	ask("FetchOffsetsForTopics", func() (any, error) { return calls.One(admin.FetchOffsetsForTopics(ctx, "g", "a")) })
	ask("FetchManyOffsets", func() (any, error) { return admin.FetchManyOffsets(ctx, "g", "none"), nil })
	ask("Lag", func() (any, error) { return calls.One(admin.Lag(ctx, "g")) })
	ask("ListGroups", func() (any, error) { return calls.One(admin.ListGroups(ctx)) })
	ask("ListGroups: of some states", func() (any, error) { return calls.One(admin.ListGroups(ctx, "Stable")) })
	ask("ListGroupsByType", func() (any, error) { return calls.One(admin.ListGroupsByType(ctx, []string{"classic"})) })
	ask("DescribeGroups", func() (any, error) { return calls.One(admin.DescribeGroups(ctx, "g", "none")) })
	ask("DescribeConsumerGroups", func() (any, error) { return calls.One(admin.DescribeConsumerGroups(ctx, "g", "none")) })
	ask("FindGroupCoordinators", func() (any, error) { return admin.FindGroupCoordinators(ctx, "g"), nil })
	ask("FindTxnCoordinators", func() (any, error) { return admin.FindTxnCoordinators(ctx, "t"), nil })
	ask("FindShareCoordinators", func() (any, error) { return admin.FindShareCoordinators(ctx, "s"), nil })
	change("LeaveGroup", func() (any, error) {
		return calls.One(admin.LeaveGroup(ctx, kadm.LeaveGroup("g").InstanceIDs("none")))
	})
	change("DeleteOffsets", func() (any, error) { return calls.One(admin.DeleteOffsets(ctx, "g", topics("a", 1, 9))) })
	change("DeleteGroup", func() (any, error) { return calls.One(admin.DeleteGroup(ctx, "g")) })
	change("DeleteGroups", func() (any, error) { return calls.One(admin.DeleteGroups(ctx, "g", "none")) })

	ask("DescribeShareGroups", func() (any, error) { return calls.One(admin.DescribeShareGroups(ctx, "s")) })
	ask("DescribeShareGroupOffsets", func() (any, error) { return calls.One(admin.DescribeShareGroupOffsets(ctx, "s")) })
	change("AlterShareGroupOffsets", func() (any, error) {
		return calls.One(admin.AlterShareGroupOffsets(ctx, "s", offsets(at("none", 0, 1))))
	})
	change("DeleteShareGroupOffsets", func() (any, error) { return calls.One(admin.DeleteShareGroupOffsets(ctx, "s", "a")) })
	ask("ListTransactions", func() (any, error) { return calls.One(admin.ListTransactions(ctx, nil, nil)) })
	ask("ListTransactionsByTxPattern", func() (any, error) {
		return calls.One(admin.ListTransactionsByTxPattern(ctx, nil, []string{"Ongoing"}, "t.*"))
	})
	ask("DescribeTransactions", func() (any, error) { return calls.One(admin.DescribeTransactions(ctx, "t")) })
	change("WriteTxnMarkers", func() (any, error) {
		return calls.One(admin.WriteTxnMarkers(ctx, kadm.TxnMarkers{ProducerID: 1, Topics: topics("a", 0)}))
	})

	salted := kadm.UpsertSCRAM{
		User: "u", Mechanism: kadm.ScramSha256, Iterations: 4096, Salt: []byte("salt"), SaltedPassword: []byte("salted"),
	}
	change("AlterUserSCRAMs", func() (any, error) {
		return calls.One(admin.AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{salted}))
	})
	ask("DescribeUserSCRAMs", func() (any, error) { return calls.One(admin.DescribeUserSCRAMs(ctx, "u", "none")) })
	change("AlterUserSCRAMs: deletions", func() (any, error) {
		gone := []kadm.DeleteSCRAM{{User: "u", Mechanism: kadm.ScramSha256}, {User: "none", Mechanism: kadm.ScramSha256}}
		return calls.One(admin.AlterUserSCRAMs(ctx, gone, nil))
	})
	entry := kadm.AlterClientQuotaEntry{
		Entity: kadm.ClientQuotaEntity{{Type: "user", Name: kadm.StringPtr("u")}},
		Ops:    []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: 1024}},
	}
	change("AlterClientQuotas", func() (any, error) {
		return calls.One(admin.AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{entry}))
	})
	ask("DescribeClientQuotas", func() (any, error) {
		anyone := []kadm.DescribeClientQuotaComponent{{Type: "user", MatchType: kmsg.QuotasMatchTypeAny}}
		return calls.One(admin.DescribeClientQuotas(ctx, false, anyone))
	})
	ask("ValidateAlterClientQuotas", func() (any, error) {
		wrong := entry
		wrong.Ops = []kadm.AlterClientQuotaOp{{Key: "no_such_quota", Value: 1}}
		return calls.One(admin.ValidateAlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{wrong}))
	})
	change("AlterClientQuotas: removal", func() (any, error) {
		entry.Ops[0].Remove = true
		return calls.One(admin.AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{entry}))
	})

	change("CreateDelegationToken", func() (any, error) {
		return calls.One(admin.CreateDelegationToken(ctx, kadm.CreateDelegationToken{MaxLifetime: time.Hour}))
	})
	change("RenewDelegationToken", func() (any, error) {
		return calls.One(admin.RenewDelegationToken(ctx, []byte("hmac"), time.Hour))
	})
	change("ExpireDelegationToken", func() (any, error) {
		return calls.One(admin.ExpireDelegationToken(ctx, []byte("hmac"), time.Hour))
	})
	ask("DescribeDelegationTokens", func() (any, error) { return calls.One(admin.DescribeDelegationTokens(ctx)) })
	ask("ApiVersions", func() (any, error) {
		found, err := admin.ApiVersions(ctx)
		guesses := map[int32]string{}
		for _, each := range found.Sorted() {
			guesses[each.NodeID] = each.VersionGuess()
		}
		return guesses, err
	})
	change("UpdateFeatures", func() (any, error) {
		return calls.One(admin.UpdateFeatures(ctx, true, kadm.FeatureUpdate{Feature: "no.such.feature", MaxVersionLevel: 1, UpgradeType: 1}))
	})
	ask("SetTimeoutMillis", func() (any, error) {
		admin.SetTimeoutMillis(5000)
		return nil, nil
	})
	change("DeleteTopic: the last", func() (any, error) { return calls.One(admin.DeleteTopic(ctx, "a")) })
	ask("Close", func() (any, error) {
		admin.Close()
		return nil, nil
	})
	all.TellMissing()
}

// named takes rows by the ids of topics, which each server makes up, for rows in order.
func named[T any](found map[kadm.TopicID]map[int32]T, err error) (any, error) {
	var rows []map[int32]T
	for _, row := range found {
		rows = append(rows, row)
	}
	return rows, err
}
