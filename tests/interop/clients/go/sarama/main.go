// Calls every method of sarama's ClusterAdmin; takes the release of Kafka that it is told, and the
// server's address.
package main

import (
	"os"
	"reflect"
	"slices"
	"strings"

	"calls/calls"

	"github.com/IBM/sarama"
)

func text(value string) *string { return &value }

func acl(principal string) sarama.Acl {
	return sarama.Acl{
		Principal: principal, Host: "*", Operation: sarama.AclOperationRead, PermissionType: sarama.AclPermissionAllow,
	}
}

func topic(name string) sarama.Resource {
	return sarama.Resource{
		ResourceType: sarama.AclResourceTopic, ResourceName: name, ResourcePatternType: sarama.AclPatternLiteral,
	}
}

func filter(name string) sarama.AclFilter {
	return sarama.AclFilter{
		ResourceType:              sarama.AclResourceTopic,
		ResourceName:              &name,
		ResourcePatternTypeFilter: sarama.AclPatternLiteral,
		Operation:                 sarama.AclOperationAny,
		PermissionType:            sarama.AclPermissionAny,
	}
}

func main() {
	config := sarama.NewConfig()
	config.Version = calls.Must(sarama.ParseKafkaVersion(os.Args[1]))
	config.Admin.Retry.Max = 1
	admin := calls.Must(sarama.NewClusterAdmin([]string{os.Args[2]}, config))

	settled := func() {
		there := func() bool { return len(calls.Must(admin.ListAcls(filter("barrier")))) > 0 }
		if err := admin.CreateACL(topic("barrier"), acl("User:barrier")); err != nil {
			panic(err)
		}
		calls.Until(there)
		calls.Must(admin.DeleteACL(filter("barrier"), false))
		calls.Until(func() bool { return !there() })
	}
	all := calls.New(reflect.TypeOf(&admin).Elem(), settled)
	ask, change := all.Ask, all.Change
	two := &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1}

	change("CreateTopic", func() (any, error) { return calls.None(admin.CreateTopic("a", two, false)) })
	change("CreateTopic: another", func() (any, error) { return calls.None(admin.CreateTopic("b", two, false)) })
	change("CreateTopic: one that exists", func() (any, error) { return calls.None(admin.CreateTopic("a", two, false)) })
	change("CreateTopic: too many replicas", func() (any, error) {
		return calls.None(admin.CreateTopic("c", &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 2}, false))
	})
	change("CreateTopic: an unknown configuration", func() (any, error) {
		detail := &sarama.TopicDetail{
			NumPartitions: 1, ReplicationFactor: 1, ConfigEntries: map[string]*string{"no.such.key": text("1")},
		}
		return calls.None(admin.CreateTopic("c", detail, false))
	})
	change("CreateTopic: validation only", func() (any, error) { return calls.None(admin.CreateTopic("c", two, true)) })
	ask("ListTopics", func() (any, error) {
		topics, err := admin.ListTopics()
		for name := range topics {
			if strings.HasPrefix(name, "__") {
				delete(topics, name)
			}
		}
		return topics, err
	})
	ask("DescribeTopics", func() (any, error) { return calls.One(admin.DescribeTopics([]string{"a"})) })
	ask("DescribeTopics: unknown", func() (any, error) { return calls.One(admin.DescribeTopics([]string{"none"})) })
	change("CreatePartitions", func() (any, error) { return calls.None(admin.CreatePartitions("a", 3, nil, false)) })
	change("CreatePartitions: fewer", func() (any, error) { return calls.None(admin.CreatePartitions("a", 2, nil, false)) })
	change("CreatePartitions: unknown", func() (any, error) { return calls.None(admin.CreatePartitions("none", 2, nil, false)) })
	change("DeleteTopic", func() (any, error) { return calls.None(admin.DeleteTopic("b")) })
	change("DeleteTopic: unknown", func() (any, error) { return calls.None(admin.DeleteTopic("none")) })
	change("AlterPartitionReassignments", func() (any, error) {
		return calls.None(admin.AlterPartitionReassignments("a", [][]int32{{1}, {1}, {1}}))
	})
	change("AlterPartitionReassignments: an unknown broker", func() (any, error) {
		return calls.None(admin.AlterPartitionReassignments("a", [][]int32{{7}}))
	})
	ask("ListPartitionReassignments", func() (any, error) {
		return calls.One(admin.ListPartitionReassignments("a", []int32{0, 1}))
	})
	ask("DeleteRecords", func() (any, error) { return calls.None(admin.DeleteRecords("a", map[int32]int64{0: 0})) })
	ask("DeleteRecords: beyond the end", func() (any, error) {
		return calls.None(admin.DeleteRecords("a", map[int32]int64{0: 5}))
	})

	of := func(kind sarama.ConfigResourceType, name string) sarama.ConfigResource {
		return sarama.ConfigResource{Type: kind, Name: name}
	}
	a := of(sarama.TopicResource, "a")
	ask("DescribeConfig", func() (any, error) { return calls.One(admin.DescribeConfig(a)) })
	ask("DescribeConfig: unknown", func() (any, error) {
		return calls.One(admin.DescribeConfig(of(sarama.TopicResource, "none")))
	})
	ask("DescribeConfig: of a broker", func() (any, error) {
		limit := of(sarama.BrokerResource, "1")
		limit.ConfigNames = []string{"max.connections.per.ip"}
		return calls.One(admin.DescribeConfig(limit))
	})
	ask("DescribeConfigs", func() (any, error) {
		return calls.One(admin.DescribeConfigs([]*sarama.ConfigResource{&a}, sarama.DescribeConfigsOptions{IncludeSynonyms: true}))
	})
	change("AlterConfig", func() (any, error) {
		return calls.None(admin.AlterConfig(sarama.TopicResource, "a", map[string]*string{"retention.ms": text("1000")}, false))
	})
	change("AlterConfig: an unknown key", func() (any, error) {
		return calls.None(admin.AlterConfig(sarama.TopicResource, "a", map[string]*string{"no.such.key": text("1")}, false))
	})
	incremental := func(kind sarama.ConfigResourceType, name, key, value string) (any, error) {
		entry := sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}
		entries := map[string]sarama.IncrementalAlterConfigsEntry{key: entry}
		return calls.None(admin.IncrementalAlterConfig(kind, name, entries, false))
	}
	change("IncrementalAlterConfig", func() (any, error) {
		return incremental(sarama.TopicResource, "a", "cleanup.policy", "compact")
	})
	change("IncrementalAlterConfig: an unknown key", func() (any, error) {
		return incremental(sarama.TopicResource, "a", "no.such.key", "1")
	})
	change("IncrementalAlterConfig: of a broker", func() (any, error) {
		return incremental(sarama.BrokerResource, "1", "max.connections.per.ip", "500")
	})
	ask("DescribeConfig: of what was altered", func() (any, error) { return calls.One(admin.DescribeConfig(a)) })

	alice := acl("User:alice")
	bob := acl("User:bob")
	change("CreateACL", func() (any, error) { return calls.None(admin.CreateACL(topic("a"), alice)) })
	change("CreateACL: without a name", func() (any, error) { return calls.None(admin.CreateACL(topic(""), alice)) })
	change("CreateACLs", func() (any, error) {
		return calls.None(admin.CreateACLs([]*sarama.ResourceAcls{{Resource: topic("a"), Acls: []*sarama.Acl{&alice, &bob}}}))
	})
	ask("ListAcls", func() (any, error) { return calls.One(admin.ListAcls(filter("a"))) })
	change("DeleteACL", func() (any, error) { return calls.One(admin.DeleteACL(filter("a"), false)) })

	partition := map[string][]int32{"a": {0}}
	change("ElectLeaders", func() (any, error) { return calls.One(admin.ElectLeaders(sarama.PreferredElection, partition)) })
	change("ElectLeaders: unclean", func() (any, error) { return calls.One(admin.ElectLeaders(sarama.UncleanElection, partition)) })
	ask("ListOffsets", func() (any, error) {
		times := map[string]map[int32]int64{"a": {0: sarama.OffsetNewest, 1: sarama.OffsetOldest, 2: 1}}
		return calls.One(admin.ListOffsets(times, nil))
	})
	ask("ListOffsets: unknown", func() (any, error) {
		return calls.One(admin.ListOffsets(map[string]map[int32]int64{"none": {0: sarama.OffsetNewest}}, nil))
	})

	offsets := map[string]map[int32]sarama.OffsetAndMetadata{"a": {0: {Offset: 3, LeaderEpoch: -1}, 1: {Offset: 4, LeaderEpoch: -1}}}
	change("AlterConsumerGroupOffsets", func() (any, error) {
		return calls.One(admin.AlterConsumerGroupOffsets("g", offsets, nil))
	})
	ask("ListConsumerGroups", func() (any, error) { return calls.One(admin.ListConsumerGroups()) })
	ask("DescribeConsumerGroups", func() (any, error) { return calls.One(admin.DescribeConsumerGroups([]string{"g", "none"})) })
	ask("ListConsumerGroupOffsets", func() (any, error) {
		return calls.One(admin.ListConsumerGroupOffsets("g", map[string][]int32{"a": {0, 1, 2}}))
	})
	ask("ListConsumerGroupOffsets: all topics", func() (any, error) { return calls.One(admin.ListConsumerGroupOffsets("g", nil)) })
	ask("ListConsumerGroupOffsetsBatch", func() (any, error) {
		return calls.One(admin.ListConsumerGroupOffsetsBatch(map[string]map[string][]int32{"g": {"a": {0}}, "none": nil}))
	})
	change("RemoveMemberFromConsumerGroup", func() (any, error) {
		return calls.One(admin.RemoveMemberFromConsumerGroup("g", []string{"none"}))
	})
	change("DeleteConsumerGroupOffset", func() (any, error) { return calls.None(admin.DeleteConsumerGroupOffset("g", "a", 1)) })
	change("DeleteConsumerGroupOffset: of an unknown group", func() (any, error) {
		return calls.None(admin.DeleteConsumerGroupOffset("none", "a", 1))
	})
	change("DeleteConsumerGroup", func() (any, error) { return calls.None(admin.DeleteConsumerGroup("g")) })
	change("DeleteConsumerGroup: unknown", func() (any, error) { return calls.None(admin.DeleteConsumerGroup("none")) })
	ask("Coordinator", func() (any, error) { return id(admin.Coordinator("g")) })
	ask("Controller", func() (any, error) { return id(admin.Controller()) })
	ask("DescribeCluster", func() (any, error) {
		brokers, controller, err := admin.DescribeCluster()
		return []int32{int32(len(brokers)), controller}, err
	})
	ask("DescribeLogDirs", func() (any, error) {
		found, err := admin.DescribeLogDirs([]int32{1})
		for _, folders := range found {
			for i := range folders {
				// A broker's own topics hold records.
				folders[i].Topics = slices.DeleteFunc(folders[i].Topics, func(topic sarama.DescribeLogDirsResponseTopic) bool {
					return strings.HasPrefix(topic.Topic, "__")
				})
			}
		}
		return found, err
	})

	scram := sarama.AlterUserScramCredentialsUpsert{
		Name: "u", Mechanism: sarama.SCRAM_MECHANISM_SHA_256, Iterations: 4096, Salt: []byte("salt"), Password: []byte("secret"),
	}
	gone := []sarama.AlterUserScramCredentialsDelete{{Name: "u", Mechanism: sarama.SCRAM_MECHANISM_SHA_256}}
	change("UpsertUserScramCredentials", func() (any, error) {
		return calls.One(admin.UpsertUserScramCredentials([]sarama.AlterUserScramCredentialsUpsert{scram}))
	})
	ask("DescribeUserScramCredentials", func() (any, error) { return calls.One(admin.DescribeUserScramCredentials([]string{"u"})) })
	ask("DescribeUserScramCredentials: unknown", func() (any, error) {
		return calls.One(admin.DescribeUserScramCredentials([]string{"none"}))
	})
	change("DeleteUserScramCredentials", func() (any, error) { return calls.One(admin.DeleteUserScramCredentials(gone)) })
	change("DeleteUserScramCredentials: again", func() (any, error) { return calls.One(admin.DeleteUserScramCredentials(gone)) })
	change("UpdateFeatures: an unknown feature", func() (any, error) {
		return calls.One(admin.UpdateFeatures([]sarama.FeatureUpdate{{Feature: "no.such.feature", MaxVersionLevel: 1}}))
	})

	user := []sarama.QuotaEntityComponent{{EntityType: sarama.QuotaEntityUser, MatchType: sarama.QuotaMatchExact, Name: "u"}}
	quota := sarama.ClientQuotasOp{Key: "producer_byte_rate", Value: 1024}
	change("AlterClientQuotas", func() (any, error) { return calls.None(admin.AlterClientQuotas(user, quota, false)) })
	ask("DescribeClientQuotas", func() (any, error) { return calls.One(admin.DescribeClientQuotas(nil, false)) })
	quota.Remove = true
	change("AlterClientQuotas: removal", func() (any, error) { return calls.None(admin.AlterClientQuotas(user, quota, false)) })
	change("DeleteTopic: the last", func() (any, error) { return calls.None(admin.DeleteTopic("a")) })
	ask("Close", func() (any, error) { return calls.None(admin.Close()) })
	all.TellMissing()
}

func id(broker *sarama.Broker, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return broker.ID(), nil
}
