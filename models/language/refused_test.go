package language_test

import (
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// TestRefusedNetworks: sizes of which no Transformer-XL can be made are refused in a sentence that names the key, by
// Check and where the network is made.
func TestRefusedNetworks(t *testing.T) {
	words := corpus.NewWords()
	read(t, counting(1, 5, 20), words)
	words.Close()
	for want, change := range map[string]func(*language.Settings){
		"model.width = 15 is odd":          func(s *language.Settings) { s.Model.Width, s.Model.Heads = 15, 3 },
		"model.same_length needs a memory": func(s *language.Settings) { s.Model.Memory, s.Model.SameLength = 0, true },
	} {
		s := language.Defaults()
		s.Model.Kind, s.Model.Layers, s.Model.Width, s.Model.Heads, s.Model.FFNWidth = "transformer-xl", 1, 12, 2, 20
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		torch.Test(t, func() {
			if m, err := language.New(s, words, device); err == nil || m != nil { // and no panic of what frees its parts
				t.Errorf("made: %v, %v", m, err)
			}
		})
	}
}

// TestCacheAlone: without the vocabulary's part most words have no probability, which is an error.
func TestCacheAlone(t *testing.T) {
	withModel(t, nil, func(m *language.Model, texts texts) {
		_, _, err := m.SearchCache(texts.valid, language.Cache{Theta: -1, Lambda: 1, Window: 20})
		if err == nil || !strings.Contains(err.Error(), "lambda 1 gives some word of the text the probability 0") {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestCacheSilent: a cache that does not speak before the text ends chooses nothing, and is an error.
func TestCacheSilent(t *testing.T) {
	withModel(t, nil, func(m *language.Model, texts texts) {
		ids := texts.valid[:50]
		_, _, err := m.SearchCache(ids, language.Cache{Theta: -1, Lambda: -1, Window: 49})
		if err == nil || !strings.Contains(err.Error(), "a cache of 49 positions says nothing of a text of 50 tokens") {
			t.Errorf("the error is %v", err)
		}
		if _, _, err := m.SearchCache(ids, language.Cache{Theta: -1, Lambda: -1, Window: 48}); err != nil {
			t.Error(err)
		}
	})
}
