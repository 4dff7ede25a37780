package torch_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// selections are settings of a selection for rows of the given number of sentences.
func selections(sentences, group, v int) map[string]torch.BeamTopK {
	rows := sentences * group
	base := func() torch.BeamTopK {
		b := torch.BeamTopK{Count: 2 * group, Pad: 1, End: 2, Scores: make([]float64, rows),
			Rules: make([]torch.EndRule, sentences)}
		for r := range rows {
			b.Scores[r] = -float64(r%7) - float64(r)/100
		}
		return b
	}
	out := map[string]torch.BeamTopK{"free": base()}
	ruled := base()
	for i := range ruled.Rules {
		ruled.Rules[i] = torch.EndRule(i % 3)
	}
	out["rules"] = ruled
	dead := base()
	for r := range rows {
		if r%group > 0 {
			dead.Scores[r] = math.Inf(-1)
		}
	}
	out["dead rows"] = dead
	none := base()
	for r := range rows {
		none.Scores[r] = math.Inf(-1)
	}
	out["all rows dead"] = none
	banned := base()
	banned.Banned = make([][]int32, rows)
	for r := range rows {
		for id := r % 3; id < v && r%4 > 0; id += 3 {
			banned.Banned[r] = append(banned.Banned[r], int32(id))
		}
	}
	out["banned"] = banned
	wanted := base()
	wanted.Scores[0], wanted.Wanted = math.Inf(-1), make([][]int32, rows)
	wanted.Banned = make([][]int32, rows)
	for r := range rows {
		for id := r % 3; id < v && r%4 != 1; id += 7 {
			wanted.Wanted[r] = append(wanted.Wanted[r], int32(id))
		}
		wanted.Banned[r] = wanted.Wanted[r]
	}
	out["wanted"] = wanted
	allowed := base()
	allowed.Allowed, allowed.Wanted = make([][]int32, sentences), make([][]int32, rows)
	for i := range allowed.Allowed {
		for id := i % 4; id < v; id += 1 + (i+id)%4 {
			allowed.Allowed[i] = append(allowed.Allowed[i], int32(id))
		}
	}
	for r := range rows {
		allowed.Wanted[r] = []int32{int32(r % v)}
	}
	out["allowed"] = allowed
	many := base()
	many.Count, many.Pad = group*v+3, -1
	if v < 50 {
		out["more than there are"] = many
	}
	return out
}

// TestBeamTopK: the fused selection, from hidden states and from
// log-probabilities, is that of plain operators, alone and shared by threads.
func TestBeamTopK(t *testing.T) {
	ofCPU(t)
	before := torch.Threads()
	defer torch.SetThreads(before)
	for _, size := range []struct{ sentences, group, v, d int }{{1, 1, 5, 4}, {3, 4, 31, 47}, {60, 5, 1031, 64}} {
		for name := range selections(size.sentences, size.group, size.v) {
			for _, threads := range []int{1, 3} {
				t.Run(fmt.Sprintf("%v/%s/%d threads", size, name, threads), func(t *testing.T) {
					torch.Test(t, func() {
						torch.SetThreads(threads)
						b := selections(size.sentences, size.group, size.v)[name]
						s := torch.NewStream(3, "test")
						rows := int64(size.sentences * size.group)
						h := s.Normal(0, 1, torch.Float32, device, rows, int64(size.d))
						w := s.Normal(0, 1, torch.Float32, device, int64(size.v), int64(size.d))
						bias := s.Normal(0, 1, torch.Float32, device, int64(size.v))
						for _, bias := range []torch.Tensor{bias, {}} {
							log := b.Masked(torch.Linear(h, w, bias)).LogSoftmax(1)
							exact := bias
							if exact.Defined() {
								exact = exact.To(torch.Float64, device)
							}
							want := b.FromLogProbs(b.Masked(torch.Linear(h.To(torch.Float64, device),
								w.To(torch.Float64, device), exact)).LogSoftmax(1))
							sameCandidates(t, "from hidden states", b.FromHidden(h, torch.Pack(w), bias), want)
							sameCandidates(t, "from log-probabilities", b.FromLogProbs(log), want)
							sameCandidates(t, "reference", b.FromLogProbsReference(log), want)
						}
					})
				})
			}
		}
	}
}

// sameCandidates fails unless scores are near, and choices the same where they
// are not tied.
func sameCandidates(t *testing.T, what string, got, want torch.Candidates) {
	t.Helper()
	near := func(a, b float64) bool { return a == b || math.Abs(a-b) < 2e-4 }
	if !slices.EqualFunc(got.Wanted, want.Wanted, near) {
		t.Fatalf("%s: the wanted words have %v, want %v", what, got.Wanted, want.Wanted)
	}
	for i := range want.Scores {
		if !near(got.Scores[i], want.Scores[i]) {
			t.Fatalf("%s: candidate %d has the score %v, want %v", what, i, got.Scores[i], want.Scores[i])
		}
		tied := i > 0 && near(want.Scores[i], want.Scores[i-1]) || i+1 < len(want.Scores) &&
			near(want.Scores[i], want.Scores[i+1])
		if tied && want.Rows[i] >= 0 {
			continue
		}
		if got.Rows[i] != want.Rows[i] || got.IDs[i] != want.IDs[i] || !near(got.LogProbs[i], want.LogProbs[i]) {
			t.Fatalf("%s: candidate %d is word %d of row %d (%v), want word %d of row %d (%v)", what, i,
				got.IDs[i], got.Rows[i], got.LogProbs[i], want.IDs[i], want.Rows[i], want.LogProbs[i])
		}
	}
}

// TestBeamTopKRefuses words that are allowed twice, out of order or beyond the vocabulary.
func TestBeamTopKRefuses(t *testing.T) {
	ofCPU(t)
	torch.Test(t, func() {
		for _, ids := range [][]int32{{2, 2}, {3, 2}, {2, 5}, {-1, 2}} {
			b := torch.BeamTopK{Count: 2, Pad: 1, End: 2, Scores: []float64{0}, Rules: []torch.EndRule{torch.EndAllowed},
				Allowed: [][]int32{ids}}
			err := torch.Try(func() error {
				b.FromLogProbs(torch.Zeros(torch.Float32, device, 1, 5))
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), "the allowed words do not rise within the vocabulary of 5") {
				t.Errorf("allowed %v: %v", ids, err)
			}
		}
		for _, id := range []int32{-1, 5, 1 << 28} {
			b := torch.BeamTopK{Count: 2, Pad: 1, End: 2, Scores: []float64{0}, Rules: []torch.EndRule{torch.EndAllowed}}
			banned, wanted := b, b
			banned.Banned, wanted.Wanted = [][]int32{{id}}, [][]int32{{id}}
			for _, b := range []torch.BeamTopK{banned, wanted} {
				err := torch.Try(func() error {
					b.FromLogProbs(torch.Zeros(torch.Float32, device, 1, 5))
					return nil
				})
				if err == nil || !strings.Contains(err.Error(), "outside of the vocabulary of 5") {
					t.Errorf("banned %v, wanted %v: %v", b.Banned, b.Wanted, err)
				}
			}
		}
	})
}

// TestBeamTopKOfNaN finds no candidates.
func TestBeamTopKOfNaN(t *testing.T) {
	torch.Test(t, func() {
		for _, rule := range []torch.EndRule{torch.EndAllowed, torch.EndForbidden, torch.EndForced} {
			b := torch.BeamTopK{Count: 2, Pad: 1, End: 2, Scores: []float64{0}, Rules: []torch.EndRule{rule}}
			for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
				got := b.FromLogProbs(torch.Full(math.NaN(), dtype, device, 1, 90))
				if got.Rows[0] >= 0 || got.Rows[1] >= 0 {
					t.Errorf("%v, %v: NaN gives %+v", dtype, rule, got)
				}
			}
		}
	})
}

// TestPackedRows: with AVX-512 a row has the same bits whether few rows or many are beside it, in whichever layout; a
// translation's bytes then do not depend on its batch.
func TestPackedRows(t *testing.T) {
	ofCPU(t)
	if torch.ISA() != "avx512" {
		t.Skip("this processor or APERTURE_ISA has no AVX-512, and the products of oneDNN's kernels for AVX2 round by their rows")
	}
	defer torch.SetThreads(0)
	torch.Test(t, func() {
		s := torch.NewStream(4, "test")
		for _, size := range [][2]int64{{2048, 496}, {1500, 284}} { // zeros come first and say nothing of those to come
			zeros := torch.Zeros(torch.Float32, device, size[1], size[0])
			torch.Pack(zeros).Linear(s.Normal(0, 1, torch.Float32, device, 1, size[0]), torch.Tensor{}, false)
		}
		for _, size := range [][2]int64{{31, 47}, {128, 512}, {512, 128}, {256, 1024}, {2048, 512}, {512, 2048}, {512, 3000},
			{4096, 65}, {400, 64}, {391, 300}, {2048, 496}, {1500, 284}} {
			in, out := size[0], size[1]
			w, b := s.Normal(0, 1, torch.Float32, device, out, in), s.Normal(0, 1, torch.Float32, device, out)
			p, x := torch.Pack(w), s.Normal(0, 1, torch.Float32, device, 200, in)
			many := p.Linear(x, b, false).Float32s()
			for _, threads := range []int{1, 2} {
				torch.SetThreads(threads)
				for _, rows := range []int64{1, 5, 32, 33, 96, 97, 200} {
					few := p.Linear(x.Narrow(0, 0, rows).Clone(), b, false).Float32s()
					if !slices.Equal(few, many[:len(few)]) {
						t.Errorf("%d inputs, %d outputs, %d threads: %d rows have other bits than among 200", in, out, threads, rows)
					}
				}
			}
		}
	})
}

// TestPackedLinear equals Linear, and refuses what does not fit.
func TestPackedLinear(t *testing.T) {
	ofCPU(t)
	torch.Test(t, func() {
		s := torch.NewStream(4, "test")
		w, b := s.Normal(0, 1, torch.Float32, device, 47, 31), s.Normal(0, 1, torch.Float32, device, 47)
		w.SetRequiresGrad(true)
		p := torch.Pack(w)
		for _, shape := range [][]int64{{1, 31}, {4, 31}, {3, 5, 31}, {32, 31}, {33, 31}, {0, 31}, {300, 31}} {
			x := s.Normal(0, 1, torch.Float32, device, shape...)
			near(t, "with bias", p.Linear(x, b, false), torch.Linear(x, w, b))
			near(t, "without bias", p.Linear(x, torch.Tensor{}, false), torch.Linear(x, w, torch.Tensor{}))
			near(t, "with a ReLU", p.Linear(x, b, true), torch.Linear(x, w, b).Relu())
		}
		few := s.Normal(0, 1, torch.Float32, device, 32, 31)
		if alone, all := p.Linear(few.Narrow(0, 7, 1), b, false).Float32s(), p.Linear(few, b, false).Float32s(); !slices.Equal(alone,
			all[7*47:8*47]) {
			t.Error("a row of few has other bits alone than among others")
		}
		for what, f := range map[string]func(){
			"a wider input": func() { p.Linear(torch.Zeros(torch.Float32, device, 2, 32), b, false) },
			"a shorter bias": func() {
				p.Linear(torch.Zeros(torch.Float32, device, 2, 31), torch.Zeros(torch.Float32, device, 46), false)
			},
			"a float64 matrix": func() { torch.Pack(torch.Zeros(torch.Float64, device, 4, 4)) },
			"a vector":         func() { torch.Pack(torch.Zeros(torch.Float32, device, 4)) },
			"a float64 input":  func() { p.Linear(torch.Zeros(torch.Float64, device, 2, 31), b, false) },
		} {
			if err := torch.Try(func() error { f(); return nil }); err == nil {
				t.Errorf("%s is no error", what)
			}
		}
	})
}
