package report

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRecordJSON(t *testing.T) {
	for _, test := range []struct {
		record Record
		want   string
	}{
		{
			Record{Step: 7, Epoch: 1.5, Split: SplitTrain,
				Values: map[string]float64{Loss: 2.5, LearningRate: 0, "z": 1, "a": math.Inf(1)}},
			`{"step":7,"epoch":1.5,"split":"train","loss":2.5,"ppl":null,"lr":0,"tokens_per_s":null,"grad_norm":null,"a":null,"z":1}`,
		},
		{
			Record{Step: 1, Epoch: math.NaN(), Split: "a\"b",
				Lists: map[string][]float64{SingularValues: {2, math.NaN(), 1e-30}}},
			`{"step":1,"epoch":null,"split":"a\"b","loss":null,"ppl":null,"lr":null,"tokens_per_s":null,"grad_norm":null,"singular_values":[2,null,1e-30]}`,
		},
	} {
		got, err := json.Marshal(test.record)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Error(diff)
		}
	}
	for _, r := range []Record{
		{Values: map[string]float64{"step": 1}},
		{Values: map[string]float64{"x": 1}, Lists: map[string][]float64{"x": {1}}},
		{Lists: map[string][]float64{"split": {1}}},
	} {
		if _, err := r.MarshalJSON(); err == nil {
			t.Errorf("%+v has a field twice", r)
		}
	}
}

func TestMetricsRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	if records, err := ReadRecords(path); err != nil || records != nil {
		t.Errorf("no file: %v, %v", records, err)
	}
	want := []Record{
		{Step: 1, Epoch: 0.5, Split: SplitTrain, Values: map[string]float64{Loss: 1.0 / 3, GradientNorm: 1e-9},
			Lists: map[string][]float64{}},
		{Step: 2, Epoch: math.NaN(), Split: SplitOutput, Values: map[string]float64{},
			Lists: map[string][]float64{SingularValues: {3, math.NaN()}}},
	}
	for _, r := range want { // opened anew for each, as by resumed processes
		m, err := OpenMetrics(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Write(r); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"step":3,"note":"by hand","epo`); err != nil {
		t.Fatal(err)
	}
	file.Close()
	got, err := ReadRecords(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	if !math.IsNaN(got[1].Value(Loss)) || got[0].Value(Loss) != 1.0/3 {
		t.Errorf("losses %v, %v", got[0].Value(Loss), got[1].Value(Loss))
	}
	if err := os.WriteFile(path, []byte("{\"step\":1}\n{\"step\":\"two\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRecords(path); err == nil || !strings.Contains(err.Error(), "metrics.jsonl: line 2: ") {
		t.Errorf("a broken line gave %v", err)
	}
}
