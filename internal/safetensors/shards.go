package safetensors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// IndexFile says which shard of a large checkpoint holds which tensor, as the library transformers writes it.
const IndexFile = "model.safetensors.index.json"

// ReadShards takes the tensors that an index lists, whose file has that path and text, from their shards, files beside
// it. open gives all tensors of a shard by name, and is called once for each; where it finds none, fs.ErrNotExist, the
// tensors go into missing, with the name of their shard. Errors are sentences that name the index.
func ReadShards[T any](path string, text []byte, open func(shard string) (map[string]T, error)) (tensors map[string]T,
	missing map[string]string, err error) {
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &index); err != nil || len(index.Map) == 0 {
		return nil, nil, fmt.Errorf("%s is no index of safetensors: it wants an object with a weight_map that names a file "+
			"for each tensor", path)
	}
	tensors, missing = map[string]T{}, map[string]string{}
	shards := map[string]map[string]T{} // nil: not there
	for _, name := range slices.Sorted(maps.Keys(index.Map)) {
		shard := index.Map[name]
		if shard == "." || strings.ContainsAny(shard, `/\`) || !filepath.IsLocal(shard) {
			return nil, nil, fmt.Errorf("%s: the shard %q of %s is no name of a file beside it: get the index again", path,
				shard, name)
		}
		all, seen := shards[shard]
		if !seen {
			if all, err = open(shard); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, nil, err
			}
			shards[shard] = all
		}
		t, there := all[name]
		switch {
		case all == nil:
			missing[name] = shard
		case !there:
			return nil, nil, fmt.Errorf("%s says that %s is in %s, which has no such tensor: get both again, from one "+
				"version of the model", path, name, shard)
		default:
			tensors[name] = t
		}
	}
	return tensors, missing, nil
}
