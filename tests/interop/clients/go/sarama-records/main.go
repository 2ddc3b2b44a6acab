// Producers and consumers of each kind, with sarama. The task is the argument; address, user and
// password are in the environment, as application.py has them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"calls/calls"

	"github.com/IBM/sarama"
)

const (
	topic = "orders"
	group = "readers"
	limit = 15 * time.Second
)

func settings() *sarama.Config {
	config := sarama.NewConfig()
	config.Net.SASL.Enable = true
	config.Net.SASL.User = os.Getenv("KAFKA_USER")
	config.Net.SASL.Password = os.Getenv("KAFKA_PASSWORD")
	config.Metadata.Retry.Max = 1
	config.Producer.Return.Successes = true
	config.Consumer.Return.Errors = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	// Commits wait behind fetches, on the same connection.
	config.Consumer.MaxWaitTime = 20 * time.Millisecond
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{
		sarama.NewBalanceStrategyRoundRobin(),
	}
	config.Consumer.Group.Session.Timeout = 6 * time.Second
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	return config
}

func addresses() []string { return []string{os.Getenv("KAFKA_BOOTSTRAP_SERVERS")} }

func produce(config *sarama.Config) error {
	producer, err := sarama.NewSyncProducer(addresses(), config)
	if err != nil {
		return err
	}
	defer producer.Close()
	_, _, err = producer.SendMessage(&sarama.ProducerMessage{
		Topic: topic, Value: sarama.StringEncoder("an order"),
	})
	return err
}

func producer() error { return produce(settings()) }

func idempotentProducer() error {
	config := settings()
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Net.MaxOpenRequests = 1
	return produce(config)
}

// reader commits each record that it reads; taken says whether to go on.
type reader struct {
	assigned func([]int32)
	taken    func(*sarama.ConsumerMessage) bool
	stop     context.CancelFunc
}

func (r *reader) Setup(session sarama.ConsumerGroupSession) error {
	r.assigned(session.Claims()[topic])
	return nil
}

func (*reader) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (r *reader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			goesOn := r.taken(message)
			session.MarkMessage(message, "")
			session.Commit()
			if !goesOn {
				r.stop()
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

// consume reads until the context ends or an error comes.
func consume(ctx context.Context, r *reader) error {
	members, err := sarama.NewConsumerGroup(addresses(), group, settings())
	if err != nil {
		return err
	}
	defer members.Close()
	ctx, r.stop = context.WithCancel(ctx)
	failed := make(chan error, 1)
	go func() {
		for err := range members.Errors() {
			select {
			case failed <- err:
				r.stop()
			default:
			}
		}
	}()
	for ctx.Err() == nil {
		if err := members.Consume(ctx, []string{topic}, r); err != nil {
			return err
		}
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func consumer() error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	count := 0
	err := consume(ctx, &reader{
		assigned: func([]int32) {},
		taken: func(*sarama.ConsumerMessage) bool {
			count++
			return false
		},
	})
	if err == nil && count == 0 {
		return errors.New("no record")
	}
	return err
}

// member tells its partitions and its records until SIGTERM, after which it leaves the group.
func member() error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	// Written before the commit: one who is killed has told each record that is committed.
	var writing sync.Mutex
	tell := func(line any) {
		writing.Lock()
		defer writing.Unlock()
		fmt.Println(string(calls.Must(json.Marshal(line))))
	}
	for ctx.Err() == nil {
		err := consume(ctx, &reader{
			assigned: func(partitions []int32) {
				slices.Sort(partitions)
				tell(map[string]any{"assigned": slices.Concat([]int32{}, partitions)})
			},
			taken: func(message *sarama.ConsumerMessage) bool {
				tell(map[string]any{"read": string(message.Value)})
				return true
			},
		})
		if err != nil {
			// A commit in a rebalance fails; the record is read again.
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return nil
}

func main() {
	tasks := map[string]func() error{
		"producer":            producer,
		"idempotent_producer": idempotentProducer,
		"consumer":            consumer,
		"member":              member,
	}
	if err := tasks[os.Args[1]](); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
