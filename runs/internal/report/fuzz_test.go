package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzRecords: a metrics.jsonl that can be read is written and read as it was.
func FuzzRecords(f *testing.F) {
	for _, text := range []string{
		`{"step":1,"epoch":0.5,"split":"train","loss":2.5,"ppl":null,"x":[1,null,2]}` + "\n", "", "{}\n", "{\n", "null\n", "[]\n",
		`{"step":1e99}` + "\n", `{"step":1,"loss":"x","nested":{"a":[[1]]}}` + "\n", `{"step":1,"\u001b[2J":3}` + "\n",
		`{"step":1,"STEP":2,"split":"\u0000"}` + "\n" + `{"step":2`, "{\"step\":\"\x1b\"}\n", `{"step":1,"loss":1,"loss":2}` + "\n",
		`{"step":` + strings.Repeat("9", 1600) + "}\n", `{"stEp":9944499}` + "\n", `{"step":1,"stEp":9944499}` + "\n",
	} {
		f.Add([]byte(text))
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(folder, "metrics.jsonl")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		var records []Record
		if fixtures.Promise(t, 2*len(data), func() (err error) { records, err = ReadRecords(path); return err }) != nil {
			return
		}
		var first [][]byte
		for _, r := range records {
			line, err := r.MarshalJSON()
			if err != nil {
				return // names that differ in case alone
			}
			first = append(first, line)
		}
		for i, line := range first {
			var again Record
			if err := again.UnmarshalJSON(line); err != nil {
				t.Fatalf("%s was written, and is refused: %v", line, err)
			}
			if second, _ := again.MarshalJSON(); string(second) != string(line) {
				t.Errorf("%s is read and written as %s", first[i], second)
			}
		}
	})
}
