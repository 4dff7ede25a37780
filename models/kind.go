package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/torch"
)

// Translator is a network that translates.
type Translator interface {
	// Forward gives the hidden states from which the tokens after prev are predicted; a nil stream is evaluation.
	Forward(source, prev Tokens, s *torch.Stream) torch.States
	// Operations are those of Forward in training, whatever words the batch has.
	Operations(source, prev Tokens) torch.Operations
	// Decoder prepares for search.
	Decoder() Decoder
	// SetInputNoise sets the standard deviation of the noise on word vectors.
	SetInputNoise(deviation float64)
	// Free frees what the network holds beside its parameters.
	Free()
}

// LanguageModel turns text into hidden states from which the next token of each column is predicted.
type LanguageModel interface {
	// Forward reads a chunk. carried is what Forward gave for the chunk before, nil at the beginning; it is left as it
	// is, so that another text can be read in between. A nil stream is evaluation.
	Forward(x Chunk, carried Carried, s *torch.Stream) (torch.States, Carried)
	// Operations are those of Forward in training, whatever words the chunk has.
	Operations(x Chunk) torch.Operations
	// SetInputNoise sets the standard deviation of the noise on word vectors, where the network adds any.
	SetInputNoise(deviation float64)
}

// TextReader is a language model that reads each chunk by itself, and reads a text on by a cache of what it has read.
type TextReader interface {
	LanguageModel
	NewTextCache(columns int) *TextCache
	Read(x Chunk, c *TextCache) torch.States
}

// Kinds are the networks of a task by their names, values of model.kind.
type Kinds[K any] []struct {
	Name string
	Kind K
}

// Names lists the values of model.kind.
func (k Kinds[K]) Names() (names []string) {
	for _, x := range k {
		names = append(names, x.Name)
	}
	return names
}

// Of finds a kind by its name. The error of a name that is none has what it fails to do, as in "does not translate".
func (k Kinds[K]) Of(name, fails string) (kind K, err error) {
	i := slices.Index(k.Names(), name)
	if i < 0 {
		return kind, fmt.Errorf("model.kind = %q %s: it wants %s", name, fails, strings.Join(k.Names(), ", "))
	}
	return k[i].Kind, nil
}
