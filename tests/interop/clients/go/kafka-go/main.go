// Calls every method of the Client of segmentio's kafka-go that an administrator needs; takes the
// server's address.
package main

import (
	"context"
	"os"
	"reflect"
	"strings"
	"time"

	"calls/calls"

	"github.com/segmentio/kafka-go"
)

const (
	sha256 = kafka.ScramMechanism(1)
	set    = kafka.ConfigOperationSet
)

func entry(topic, principal string) kafka.ACLEntry {
	return kafka.ACLEntry{
		ResourceType:        kafka.ResourceTypeTopic,
		ResourceName:        topic,
		ResourcePatternType: kafka.PatternTypeLiteral,
		Principal:           principal,
		Host:                "*",
		Operation:           kafka.ACLOperationTypeRead,
		PermissionType:      kafka.ACLPermissionTypeAllow,
	}
}

func filter(topic string) kafka.ACLFilter {
	return kafka.ACLFilter{
		ResourceTypeFilter:        kafka.ResourceTypeTopic,
		ResourceNameFilter:        topic,
		ResourcePatternTypeFilter: kafka.PatternTypeLiteral,
		Operation:                 kafka.ACLOperationTypeAny,
		PermissionType:            kafka.ACLPermissionTypeAny,
	}
}

func deletion(topic string) *kafka.DeleteACLsRequest {
	return &kafka.DeleteACLsRequest{Filters: []kafka.DeleteACLsFilter{kafka.DeleteACLsFilter(filter(topic))}}
}

func main() {
	ctx := context.Background()
	transport := &kafka.Transport{MetadataTTL: 10 * time.Millisecond}
	admin := &kafka.Client{Addr: kafka.TCP(os.Args[1]), Timeout: 15 * time.Second, Transport: transport}
	settled := func() {
		there := func() bool {
			found := calls.Must(admin.DescribeACLs(ctx, &kafka.DescribeACLsRequest{Filter: filter("barrier")}))
			return len(found.Resources) > 0
		}
		barrier := []kafka.ACLEntry{entry("barrier", "User:barrier")}
		calls.Must(admin.CreateACLs(ctx, &kafka.CreateACLsRequest{ACLs: barrier}))
		calls.Until(there)
		calls.Must(admin.DeleteACLs(ctx, deletion("barrier")))
		calls.Until(func() bool { return !there() })
		time.Sleep(20 * time.Millisecond) // It looks up leaders and topics in what it keeps so long.
	}
	all := calls.New(reflect.TypeOf(admin), settled)
	ask, change := all.Ask, all.Change

	create := func(topics ...kafka.TopicConfig) (any, error) {
		return calls.One(admin.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: topics}))
	}
	two := func(name string) kafka.TopicConfig {
		return kafka.TopicConfig{Topic: name, NumPartitions: 2, ReplicationFactor: 1}
	}
	change("CreateTopics", func() (any, error) { return create(two("a"), two("b")) })
	change("CreateTopics: that exist", func() (any, error) { return create(two("a")) })
	change("CreateTopics: too many replicas", func() (any, error) {
		return create(kafka.TopicConfig{Topic: "c", NumPartitions: 1, ReplicationFactor: 2})
	})
	change("CreateTopics: an unknown configuration", func() (any, error) {
		odd := two("c")
		odd.ConfigEntries = []kafka.ConfigEntry{{ConfigName: "no.such.key", ConfigValue: "1"}}
		return create(odd)
	})
	ask("Metadata", func() (any, error) {
		return calls.One(admin.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{"a", "none"}}))
	})
	ask("Metadata: all topics", func() (any, error) {
		found, err := admin.Metadata(ctx, &kafka.MetadataRequest{})
		var names []string
		for _, topic := range found.Topics {
			if !strings.HasPrefix(topic.Name, "__") {
				names = append(names, topic.Name)
			}
		}
		return names, err
	})
	partitions := func(name string, count int32) (any, error) {
		topics := []kafka.TopicPartitionsConfig{{Name: name, Count: count}}
		return calls.One(admin.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{Topics: topics}))
	}
	change("CreatePartitions", func() (any, error) { return partitions("a", 3) })
	change("CreatePartitions: fewer", func() (any, error) { return partitions("a", 2) })
	change("CreatePartitions: unknown", func() (any, error) { return partitions("none", 2) })
	remove := func(names ...string) (any, error) {
		return calls.One(admin.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: names}))
	}
	change("DeleteTopics", func() (any, error) { return remove("b") })
	change("DeleteTopics: unknown", func() (any, error) { return remove("none") })

	replace := func(name, key, value string) (any, error) {
		resources := []kafka.AlterConfigRequestResource{{
			ResourceType: kafka.ResourceTypeTopic,
			ResourceName: name,
			Configs:      []kafka.AlterConfigRequestConfig{{Name: key, Value: value}},
		}}
		return calls.One(admin.AlterConfigs(ctx, &kafka.AlterConfigsRequest{Resources: resources}))
	}
	change("AlterConfigs", func() (any, error) { return replace("a", "retention.ms", "1000") })
	change("AlterConfigs: an unknown key", func() (any, error) { return replace("a", "no.such.key", "1") })
	alter := func(kind kafka.ResourceType, name, key, value string) (any, error) {
		resources := []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kind,
			ResourceName: name,
			Configs:      []kafka.IncrementalAlterConfigsRequestConfig{{Name: key, Value: value, ConfigOperation: set}},
		}}
		return calls.One(admin.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{Resources: resources}))
	}
	change("IncrementalAlterConfigs", func() (any, error) {
		return alter(kafka.ResourceTypeTopic, "a", "cleanup.policy", "compact")
	})
	change("IncrementalAlterConfigs: a wrong value", func() (any, error) {
		return alter(kafka.ResourceTypeTopic, "a", "retention.ms", "often")
	})
	change("IncrementalAlterConfigs: of a broker", func() (any, error) {
		return alter(kafka.ResourceTypeBroker, "1", "max.connections.per.ip", "500")
	})
	describe := func(kind kafka.ResourceType, name string, keys ...string) (any, error) {
		resources := []kafka.DescribeConfigRequestResource{{ResourceType: kind, ResourceName: name, ConfigNames: keys}}
		request := &kafka.DescribeConfigsRequest{Resources: resources, IncludeSynonyms: true}
		return calls.One(admin.DescribeConfigs(ctx, request))
	}
	ask("DescribeConfigs", func() (any, error) { return describe(kafka.ResourceTypeTopic, "a") })
	ask("DescribeConfigs: unknown", func() (any, error) { return describe(kafka.ResourceTypeTopic, "none") })
	ask("DescribeConfigs: of a broker", func() (any, error) {
		return describe(kafka.ResourceTypeBroker, "1", "max.connections.per.ip")
	})

	change("CreateACLs", func() (any, error) {
		entries := []kafka.ACLEntry{entry("a", "User:alice"), entry("", "User:alice")}
		return calls.One(admin.CreateACLs(ctx, &kafka.CreateACLsRequest{ACLs: entries}))
	})
	ask("DescribeACLs", func() (any, error) {
		return calls.One(admin.DescribeACLs(ctx, &kafka.DescribeACLsRequest{Filter: filter("a")}))
	})
	change("DeleteACLs", func() (any, error) { return calls.One(admin.DeleteACLs(ctx, deletion("a"))) })

	ask("ListOffsets", func() (any, error) {
		times := []kafka.OffsetRequest{kafka.FirstOffsetOf(0), kafka.LastOffsetOf(0), kafka.LastOffsetOf(1)}
		return calls.One(admin.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{"a": times}}))
	})
	ask("ListOffsets: unknown", func() (any, error) {
		times := map[string][]kafka.OffsetRequest{"none": {kafka.LastOffsetOf(0)}}
		return calls.One(admin.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: times}))
	})
	change("ElectLeaders", func() (any, error) {
		request := &kafka.ElectLeadersRequest{Topic: "a", Partitions: []int{0, 9}, Timeout: 5 * time.Second}
		return calls.One(admin.ElectLeaders(ctx, request))
	})
	change("AlterPartitionReassignments", func() (any, error) {
		moves := []kafka.AlterPartitionReassignmentsRequestAssignment{
			{PartitionID: 0, BrokerIDs: []int{1}}, {PartitionID: 1, BrokerIDs: []int{7}},
		}
		request := &kafka.AlterPartitionReassignmentsRequest{Topic: "a", Assignments: moves, Timeout: 5 * time.Second}
		return calls.One(admin.AlterPartitionReassignments(ctx, request))
	})
	ask("ListPartitionReassignments", func() (any, error) {
		return calls.One(admin.ListPartitionReassignments(ctx, &kafka.ListPartitionReassignmentsRequest{Timeout: 5 * time.Second}))
	})

	change("OffsetCommit", func() (any, error) {
		rows := map[string][]kafka.OffsetCommit{"a": {{Partition: 0, Offset: 3}, {Partition: 1, Offset: 4}, {Partition: 9, Offset: 1}}}
		return calls.One(admin.OffsetCommit(ctx, &kafka.OffsetCommitRequest{GroupID: "g", GenerationID: -1, Topics: rows}))
	})
	ask("OffsetFetch", func() (any, error) {
		request := &kafka.OffsetFetchRequest{GroupID: "g", Topics: map[string][]int{"a": {0, 1, 2}}}
		return calls.One(admin.OffsetFetch(ctx, request))
	})
	ask("ConsumerOffsets", func() (any, error) {
		return calls.One(admin.ConsumerOffsets(ctx, kafka.TopicAndGroup{Topic: "a", GroupId: "g"}))
	})
	ask("ListGroups", func() (any, error) { return calls.One(admin.ListGroups(ctx, &kafka.ListGroupsRequest{})) })
	ask("DescribeGroups", func() (any, error) {
		return calls.One(admin.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{"g"}}))
	})
	ask("DescribeGroups: unknown", func() (any, error) {
		return calls.One(admin.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{"none"}}))
	})
	ask("FindCoordinator", func() (any, error) {
		request := &kafka.FindCoordinatorRequest{Key: "g", KeyType: kafka.CoordinatorKeyTypeConsumer}
		return calls.One(admin.FindCoordinator(ctx, request))
	})
	change("LeaveGroup", func() (any, error) {
		members := []kafka.LeaveGroupRequestMember{{ID: "none"}}
		return calls.One(admin.LeaveGroup(ctx, &kafka.LeaveGroupRequest{GroupID: "g", Members: members}))
	})
	change("OffsetDelete", func() (any, error) {
		request := &kafka.OffsetDeleteRequest{GroupID: "g", Topics: map[string][]int{"a": {1, 9}}}
		return calls.One(admin.OffsetDelete(ctx, request))
	})
	change("DeleteGroups", func() (any, error) {
		return calls.One(admin.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{"g"}}))
	})
	change("DeleteGroups: unknown", func() (any, error) {
		return calls.One(admin.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{"none"}}))
	})
	change("InitProducerID", func() (any, error) {
		found, err := admin.InitProducerID(ctx, &kafka.InitProducerIDRequest{TransactionalID: "t", TransactionTimeoutMs: 1000})
		if err == nil && found.Producer != nil {
			found.Producer.ProducerID = 0
		}
		return found, err
	})

	change("AlterUserScramCredentials", func() (any, error) {
		put := kafka.UserScramCredentialsUpsertion{
			Name: "u", Mechanism: sha256, Iterations: 4096, Salt: []byte("salt"), SaltedPassword: []byte("salted"),
		}
		request := &kafka.AlterUserScramCredentialsRequest{Upsertions: []kafka.UserScramCredentialsUpsertion{put}}
		return calls.One(admin.AlterUserScramCredentials(ctx, request))
	})
	ask("DescribeUserScramCredentials", func() (any, error) {
		users := []kafka.UserScramCredentialsUser{{Name: "u"}, {Name: "none"}}
		return calls.One(admin.DescribeUserScramCredentials(ctx, &kafka.DescribeUserScramCredentialsRequest{Users: users}))
	})
	change("AlterUserScramCredentials: deletions", func() (any, error) {
		gone := []kafka.UserScramCredentialsDeletion{{Name: "u", Mechanism: sha256}, {Name: "none", Mechanism: sha256}}
		return calls.One(admin.AlterUserScramCredentials(ctx, &kafka.AlterUserScramCredentialsRequest{Deletions: gone}))
	})
	quota := func(key string, remove bool) (any, error) {
		entries := []kafka.AlterClientQuotaEntry{{
			Entities: []kafka.AlterClientQuotaEntity{{EntityType: "user", EntityName: "u"}},
			Ops:      []kafka.AlterClientQuotaOps{{Key: key, Value: 1024, Remove: remove}},
		}}
		return calls.One(admin.AlterClientQuotas(ctx, &kafka.AlterClientQuotasRequest{Entries: entries}))
	}
	change("AlterClientQuotas", func() (any, error) { return quota("producer_byte_rate", false) })
	change("AlterClientQuotas: an unknown key", func() (any, error) { return quota("no_such_quota", false) })
	ask("DescribeClientQuotas", func() (any, error) {
		anyone := []kafka.DescribeClientQuotasRequestComponent{{EntityType: "user", MatchType: 2}}
		return calls.One(admin.DescribeClientQuotas(ctx, &kafka.DescribeClientQuotasRequest{Components: anyone}))
	})
	change("AlterClientQuotas: removal", func() (any, error) { return quota("producer_byte_rate", true) })
	ask("ApiVersions", func() (any, error) {
		found, err := admin.ApiVersions(ctx, &kafka.ApiVersionsRequest{})
		return len(found.ApiKeys) > 0, err
	})
	change("DeleteTopics: the last", func() (any, error) { return remove("a") })
	all.TellMissing()
}
