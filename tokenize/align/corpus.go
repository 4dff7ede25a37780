package align

// Corpus are pairs of sentences, as numbers of their words. The zero Corpus is empty.
type Corpus struct {
	source, target side
}

// side is one language of a corpus.
type side struct {
	ids   map[string]int32
	words []string // by id
	text  []int32  // ids of all sentences
	ends  []int    // of each sentence in text
}

// Len counts pairs.
func (c *Corpus) Len() int { return len(c.source.ends) }

// Add appends a pair.
func (c *Corpus) Add(source, target []string) {
	c.source.add(source)
	c.target.add(target)
}

func (s *side) add(words []string) {
	if s.ids == nil {
		s.ids = map[string]int32{}
	}
	for _, word := range words {
		id, known := s.ids[word]
		if !known {
			id = int32(len(s.words))
			s.ids[word] = id
			s.words = append(s.words, word)
		}
		s.text = append(s.text, id)
	}
	s.ends = append(s.ends, len(s.text))
}

// sentence is the text of pair k.
func (s *side) sentence(k int) []int32 {
	if k == 0 {
		return s.text[:s.ends[0]]
	}
	return s.text[s.ends[k-1]:s.ends[k]]
}
