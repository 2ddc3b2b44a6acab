// Package calls is what the programs share that call everything of a client in Go: a line for each
// call, as ../../calls.py has it.
package calls

import (
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"
	"time"
)

const limit = 20 * time.Second

// Calls makes calls in order.
type Calls struct {
	methods map[string]bool // and whether it has been called
	settled func()
	refused bool
}

// New returns the calls of a client, whose exported methods it looks up in a value or an interface.
// Settled waits until a broker shows what was changed before.
func New(client reflect.Type, settled func()) *Calls {
	methods := map[string]bool{}
	for i := 0; i < client.NumMethod(); i++ {
		methods[client.Method(i).Name] = false
	}
	return &Calls{methods: methods, settled: settled}
}

// Change makes a call that may change something.
func (c *Calls) Change(name string, call func() (any, error)) {
	c.Ask(name, call)
	c.settled()
}

// Ask makes a call, named by its method and by what follows a colon, and tells its result.
func (c *Calls) Ask(name string, call func() (any, error)) {
	method, _, _ := strings.Cut(name, ":")
	c.methods[method] = true
	c.refused = false
	value, err := call()
	text := c.shown(reflect.ValueOf(value))
	if err != nil {
		text = c.failure(err)
	}
	outcome := "works"
	if c.refused {
		outcome = "refused"
	}
	escaped := strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\t", "\\t").Replace(text)
	fmt.Println(strings.Join([]string{"call", name, outcome, escaped}, "\t"))
}

// TellMissing names the methods that were not called.
func (c *Calls) TellMissing() {
	var missing []string
	for name, called := range c.methods {
		if !called {
			missing = append(missing, name)
		}
	}
	sort.Strings(missing)
	fmt.Println("missing\t" + strings.Join(missing, " "))
}

func (c *Calls) failure(err error) string {
	c.refused = true
	return fmt.Sprintf("!%s", err)
}

var errorType = reflect.TypeOf((*error)(nil)).Elem()

// A list is shown in order: a broker has its rows in that of a hash table.
func (c *Calls) shown(value reflect.Value) string {
	if !value.IsValid() {
		return "null"
	}
	kind := value.Kind()
	if (kind == reflect.Pointer || kind == reflect.Interface) && value.IsNil() {
		return "null"
	}
	if kind == reflect.Interface {
		return c.shown(value.Elem())
	}
	if value.CanInterface() && value.Type().Implements(errorType) {
		if kind == reflect.Int16 && value.Int() == 0 {
			return "0" // The code of no error.
		}
		return c.failure(value.Interface().(error))
	}
	switch kind {
	case reflect.Pointer:
		return c.shown(value.Elem())
	case reflect.Struct:
		if stamp, ok := value.Interface().(fmt.Stringer); ok && value.NumField() > 0 && !value.Type().Field(0).IsExported() {
			return stamp.String()
		}
		var parts []string
		for i := 0; i < value.NumField(); i++ {
			field := value.Type().Field(i)
			if field.IsExported() && field.Type.Kind() != reflect.Func {
				parts = append(parts, field.Name+": "+c.shown(value.Field(i)))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Map:
		var parts []string
		for _, key := range value.MapKeys() {
			parts = append(parts, c.shown(key)+": "+c.shown(value.MapIndex(key)))
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Slice, reflect.Array:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			if kind == reflect.Array && !value.IsZero() {
				return "<id>" // Of a topic: each server makes up its own.
			}
			return fmt.Sprintf("%q", fmt.Sprint(value.Interface()))
		}
		var parts []string
		for i := 0; i < value.Len(); i++ {
			parts = append(parts, c.shown(value.Index(i)))
		}
		sort.Strings(parts)
		return "[" + strings.Join(parts, ", ") + "]"
	case reflect.String:
		return fmt.Sprintf("%q", value.String())
	default:
		return fmt.Sprint(value.Interface())
	}
}

// Until waits until something is so, as a broker shows it a little later.
func Until(reached func() bool) {
	for end := time.Now().Add(limit); !reached(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			fmt.Fprintln(os.Stderr, "the server does not show what it acknowledged")
			os.Exit(1)
		}
	}
}

// One is the result of a method that returns a value and an error.
func One[T any](value T, err error) (any, error) { return value, err }

// None is the result of a method that returns an error alone.
func None(err error) (any, error) { return nil, err }

// Must returns a value that has to be had.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
