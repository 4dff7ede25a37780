package torch

import (
	"fmt"
	"slices"
)

// Params is an ordered list of named parameters: what an optimizer steps and a checkpoint holds. Names are those that
// PyTorch users expect, such as "decoder.embed_tokens.weight"; a tied matrix stands once.
type Params struct {
	names  []string
	byName map[string]Tensor

	file string // of ParamsOf, and what it holds
	held map[string][]int64
}

// Add makes x a parameter of that name and returns it. It panics with an [*Error] where the name is taken, and in a list
// of [ParamsOf] where the file does not hold x.
func (p *Params) Add(name string, x Tensor) Tensor {
	if p.held != nil {
		if err := fits(name, x.Shape(), p.held); err != nil {
			panic(&Error{Op: p.file, Message: err.Error()})
		}
	}
	if _, taken := p.byName[name]; taken {
		panic(&Error{Op: "Params.Add", Message: fmt.Sprintf("the name %s is taken", name)})
	}
	if p.byName == nil {
		p.byName = map[string]Tensor{}
	}
	p.byName[name] = Parameter(x)
	p.names = append(p.names, name)
	return x
}

// Names returns the names in the order of addition.
func (p *Params) Names() []string { return p.names }

// Get returns the parameter of that name; it is not Defined where there is none.
func (p *Params) Get(name string) Tensor { return p.byName[name] }

// Tensors returns the parameters in the order of addition.
func (p *Params) Tensors() []Tensor {
	out := make([]Tensor, len(p.names))
	for i, name := range p.names {
		out[i] = p.byName[name]
	}
	return out
}

// Map returns the parameters by name.
func (p *Params) Map() map[string]Tensor {
	out := make(map[string]Tensor, len(p.names))
	for name, x := range p.byName {
		out[name] = x
	}
	return out
}

// Count returns the number of trained weights.
func (p *Params) Count() int64 {
	n := int64(0)
	for _, x := range p.byName {
		n += x.Count()
	}
	return n
}

// Load copies values by name into the parameters. Every parameter must be there in its shape, and nothing else.
func (p *Params) Load(values map[string]Tensor) error {
	shapes := make(map[string][]int64, len(values))
	for name, x := range values {
		shapes[name] = x.Shape()
	}
	if err := p.fit(shapes); err != nil {
		return err
	}
	for _, name := range p.names {
		p.byName[name].Assign(values[name])
	}
	return nil
}

// misfitError says which values are not those of a network's parameters.
type misfitError struct{ message string }

func (e *misfitError) Error() string { return e.message }

func misfit(format string, args ...any) error { return &misfitError{fmt.Sprintf(format, args...)} }

// fit says whether values of these shapes are those of the parameters.
func (p *Params) fit(shapes map[string][]int64) error {
	for _, name := range p.names {
		if err := fits(name, p.byName[name].Shape(), shapes); err != nil {
			return err
		}
	}
	for name := range shapes {
		if _, known := p.byName[name]; !known {
			return misfit("the model has no parameter %s", name)
		}
	}
	return nil
}

// fits says whether values of these shapes have a parameter's.
func fits(name string, want []int64, shapes map[string][]int64) error {
	got, found := shapes[name]
	if !found {
		return misfit("the parameter %s is missing", name)
	}
	if !slices.Equal(got, want) {
		return misfit("the parameter %s has shape %v, the model needs %v", name, got, want)
	}
	return nil
}

// Free frees the parameters.
func (p *Params) Free() { Free(p.Tensors()...) }
