package translation

import (
	"encoding/json"
	"fmt"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// The tensor of a stored table, and the key of its metadata that holds what is known of it.
const (
	storedTensor = "vectors"
	storedAbout  = "about"
)

// about is what a stored table says beside its rows.
type about struct {
	Words    int     `json:"words,omitempty"`
	Known    int     `json:"known,omitempty"`
	Composed int     `json:"composed,omitempty"`
	Share    float64 `json:"share,omitempty"`
	Missing  int     `json:"missing"`
	Unused   int     `json:"unused"`
	End      string  `json:"end"`
	Source   string  `json:"source"`
	SHA256   string  `json:"sha256"`
}

// saveVectors keeps a table as safetensors, rows bit for bit, in the order of its vocabulary. It
// must be called on the torch thread, as loadVectors.
func saveVectors(t *vectors.Table, path string) error {
	scope := torch.OpenScope()
	defer scope.Close()
	text, err := json.Marshal(about{t.Words, t.Known, t.Composed, t.Share, t.Missing, t.Unused, t.End, t.Source,
		t.SHA256})
	if err != nil {
		return err
	}
	w, err := files.Create(path)
	if err != nil {
		return err
	}
	defer w.Discard()
	if err := torch.WriteSafetensors(w, map[string]torch.Tensor{storedTensor: vectorsTensor(t)},
		map[string]string{storedAbout: string(text)}); err != nil {
		return err
	}
	return w.Commit()
}

// loadVectors reads what saveVectors wrote. It is an error where the table does not fit the vocabulary.
func loadVectors(path string, v *tokenize.Vocabulary) (*vectors.Table, error) {
	scope := torch.OpenScope()
	defer scope.Close()
	tensors, metadata, err := torch.ReadSafetensors(path, torch.CPU)
	if err != nil {
		return nil, fmt.Errorf("target vectors: %w", err)
	}
	var a about
	x, found := tensors[storedTensor]
	if err := json.Unmarshal([]byte(metadata[storedAbout]), &a); err != nil || !found {
		return nil, fmt.Errorf("%s holds no target vectors of a run: restore it from a copy", path)
	}
	if x.Rank() != 2 || x.DType() != torch.Float32 || x.Size(0) != int64(v.Len()) || x.Size(1) < 1 {
		return nil, fmt.Errorf("%s: %v of shape %v does not fit a vocabulary of %d: restore the run's tokenizer folder",
			path, x.DType(), x.Shape(), v.Len())
	}
	return &vectors.Table{
		Width: int(x.Size(1)), Rows: x.Float32s(), Words: a.Words, Known: a.Known, Composed: a.Composed, Share: a.Share,
		Missing: a.Missing, Unused: a.Unused, End: a.End, Source: a.Source, SHA256: a.SHA256,
	}, nil
}

// vectorsTensor is the table as a float32 tensor [V,M] in the innermost scope.
func vectorsTensor(t *vectors.Table) torch.Tensor {
	return torch.FromFloat32s(t.Rows, torch.CPU, int64(len(t.Rows)/t.Width), int64(t.Width))
}
