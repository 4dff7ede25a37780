package keys

import (
	"fmt"
	"reflect"
)

// Parts are settings structs of a section, as if its struct embedded them. L lists them, so that an output layer with
// keys of its own adds them to the section in one place. A copy that is changed through a [Schema] leaves the original
// alone. The zero value holds zeros.
type Parts[L List] struct{ structs []any } // pointers in the order of L; a change replaces one in a new slice

// List gives the structs of [Parts], each of another type, in the order of their keys. Their values do not count.
type List interface{ Structs() []any }

// Part is the struct of type T among the parts.
func Part[T any, L List](p Parts[L]) T {
	for _, x := range p.structs {
		if part, ok := x.(*T); ok {
			return *part
		}
	}
	var zero T
	for _, x := range p.list() {
		if _, ok := x.(T); ok {
			return zero
		}
	}
	panic(fmt.Sprintf("keys: %T is no part of %T", zero, p))
}

// parted is what [Parts] are to a schema.
type parted interface {
	list() []any
	at(i int) reflect.Value // the struct at a place of the list, to be read
}

// changing are [Parts] that can be changed.
type changing interface {
	own(i int) reflect.Value // a copy of the struct at a place of the list, which takes its place
}

func (Parts[L]) list() []any {
	var l L
	return l.Structs()
}

func (p Parts[L]) at(i int) reflect.Value {
	if p.structs == nil {
		return reflect.Zero(reflect.TypeOf(p.list()[i]))
	}
	return reflect.ValueOf(p.structs[i]).Elem()
}

func (p *Parts[L]) own(i int) reflect.Value {
	list := p.list()
	structs := append(make([]any, 0, len(list)), p.structs...)[:len(list)]
	for j := range list {
		if p.structs == nil || j == i {
			copied := reflect.New(reflect.TypeOf(list[j]))
			copied.Elem().Set(p.at(j))
			structs[j] = copied.Interface()
		}
	}
	p.structs = structs
	return reflect.ValueOf(structs[i]).Elem()
}
