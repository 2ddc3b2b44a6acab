// Package kfake has the names of franz-go's kfake that its tests of ACLs use. A cluster is a
// Doorkeeper with the test broker: the command in DOORKEEPER_KFAKE_SERVER, which gets the options.
package kfake

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ACL is an ACL of a user, from any host.
type ACL struct {
	Resource  kmsg.ACLResourceType
	Name      string
	Pattern   kmsg.ACLResourcePatternType
	Operation kmsg.ACLOperation
	Allow     bool
}

type record struct {
	ResourceType   string `json:"resourceType"`
	Name           string `json:"name"`
	PatternType    string `json:"patternType"`
	Principal      string `json:"principal"`
	Operation      string `json:"operation"`
	PermissionType string `json:"permissionType"`
}

type options struct {
	ACLs       bool              `json:"acls_enabled"`
	SASL       bool              `json:"sasl"`
	Topics     map[string]int32  `json:"topics"`
	Users      map[string]string `json:"users"`
	SuperUsers []string          `json:"super_users"`
	Records    []record          `json:"acls"`
}

// Opt is an option of a cluster.
type Opt func(*options)

// NumBrokers takes the one broker that every test has.
func NumBrokers(number int) Opt {
	if number != 1 {
		panic("a test broker is one broker")
	}
	return func(*options) {}
}

// SeedTopics adds topics.
func SeedTopics(partitions int32, names ...string) Opt {
	return func(o *options) {
		for _, name := range names {
			o.Topics[name] = partitions
		}
	}
}

// EnableACLs sets the standard authorizer.
func EnableACLs() Opt { return func(o *options) { o.ACLs = true } }

// EnableSASL lets clients log in.
func EnableSASL() Opt { return func(o *options) { o.SASL = true } }

// User adds a user with ACLs.
func User(_, user, password string, acls ...ACL) Opt {
	return func(o *options) {
		o.SASL, o.Users[user] = true, password
		for _, acl := range acls {
			permission := "DENY"
			if acl.Allow {
				permission = "ALLOW"
			}
			o.Records = append(o.Records, record{
				acl.Resource.String(), acl.Name, acl.Pattern.String(), "User:" + user, acl.Operation.String(), permission,
			})
		}
	}
}

// Superuser adds a super user.
func Superuser(_, user, password string) Opt {
	return func(o *options) {
		o.SASL, o.Users[user] = true, password
		o.SuperUsers = append(o.SuperUsers, "User:"+user)
	}
}

// Cluster is a running server.
type Cluster struct {
	address string
	input   io.Closer
	server  *exec.Cmd
}

// NewCluster returns when the server can be reached.
func NewCluster(opts ...Opt) (*Cluster, error) {
	chosen := options{Topics: map[string]int32{}, Users: map[string]string{}, SuperUsers: []string{}, Records: []record{}}
	for _, opt := range opts {
		opt(&chosen)
	}
	line, err := json.Marshal(chosen)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(os.Getenv("DOORKEEPER_KFAKE_SERVER"))
	server := exec.Command(words[0], words[1:]...)
	server.Stderr = os.Stderr
	input, err := server.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	fmt.Fprintln(input, string(line))
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the server has not started: %w", err)
	}
	return &Cluster{strings.TrimSpace(address), input, server}, nil
}

// ListenAddrs returns the address of the server.
func (c *Cluster) ListenAddrs() []string { return []string{c.address} }

// Close ends the server.
func (c *Cluster) Close() {
	c.input.Close()
	_ = c.server.Wait()
}

func newCluster(t *testing.T, opts ...Opt) *Cluster {
	t.Helper()
	c, err := NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func newPlainClient(t *testing.T, c *Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}
