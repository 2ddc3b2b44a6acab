//go:build source

package kfake

// The module whose tests are run here, with its version in go.mod.
import _ "github.com/twmb/franz-go/pkg/kfake"
