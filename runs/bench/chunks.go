package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/aperture-ml/aperture/models"
)

// textChunk is a chunk of text and the words after each of its own.
type textChunk struct {
	input   models.Chunk
	targets []int64
}

// chunks are random words, of which the one with rank r is drawn about in
// proportion to 1/r, as in texts (Zipf's law). A word's id is its rank from 0.
func (n textNetwork) chunks() []textChunk {
	random := rand.New(rand.NewPCG(1, 2))
	words := func() []int64 {
		ids := make([]int64, n.steps*n.columns)
		for i := range ids {
			ids[i] = min(int64(math.Pow(float64(n.vocabulary+1), random.Float64())), int64(n.vocabulary)) - 1
		}
		return ids
	}
	all := make([]textChunk, differentBatches)
	for i := range all {
		all[i] = textChunk{models.Chunk{IDs: words(), Time: n.steps, Columns: n.columns}, words()}
	}
	return all
}

// writeChunks writes chunks as the peer reads them.
func (b *bench) writeChunks(name string, chunks []textChunk) (string, error) {
	type rows struct {
		Input  [][]int64 `json:"input"`
		Target [][]int64 `json:"target"`
	}
	all := make([]rows, len(chunks))
	for i, c := range chunks {
		all[i] = rows{cut(c.input.IDs, c.input.Columns), cut(c.targets, c.input.Columns)}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.folder, fmt.Sprintf("chunks-%s.json", name))
	return path, os.WriteFile(path, data, 0o666)
}
