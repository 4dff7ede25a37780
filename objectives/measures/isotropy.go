package measures

import (
	"cmp"
	"math"
	"slices"

	"github.com/aperture-ml/aperture/torch"
)

// Isotropy is how nearly constant Z is; see Measures.
type Isotropy struct {
	I1          float64 // min Z / max Z; an eigenvector's largest component is positive
	I2          float64 // population standard deviation of Z / its mean
	I1BothSigns float64 // the same over a and -a
	I2BothSigns float64
}

// SampledIsotropy is the mean of the isotropies of samples matrices, each of rows rows drawn from w [V,D] without
// repetition by s, with the eigenvectors of the sample. Wang et al. (2020) sample WikiText-103 so, 40,000 rows in 10
// runs; whether their eigenvectors are the sample's or the whole matrix's they do not say. With rows >= V it is the
// isotropy of w.
func SampledIsotropy(w torch.Tensor, rows int64, samples int, s *torch.Stream) Isotropy {
	var mean Isotropy
	torch.ScopedNoGrad(func() {
		if rows >= w.Size(0) {
			gram, _, _ := sums(w)
			mean = isotropy(w, axes(gram))
			return
		}
		for range samples {
			sample := torch.OpenScope()
			_, chosen := s.Uniform(0, 1, torch.Float64, torch.CPU, w.Size(0)).TopK(int(rows), 0)
			x := w.IndexSelect(0, chosen.To(torch.Int64, w.Device()))
			gram, _, _ := sums(x)
			i := isotropy(x, axes(gram))
			share := 1 / float64(samples)
			mean.I1 += share * i.I1
			mean.I2 += share * i.I2
			mean.I1BothSigns += share * i.I1BothSigns
			mean.I2BothSigns += share * i.I2BothSigns
			sample.Close()
		}
	})
	return mean
}

// isotropy is that of w [V,D] along its axes [D,D].
func isotropy(w, axes torch.Tensor) (i Isotropy) {
	plus, minus := logPartitions(w, axes)
	i.I1, i.I2 = spread(plus)
	i.I1BothSigns, i.I2BothSigns = spread(append(plus, minus...))
	return i
}

// axes gives the unit eigenvectors of W^T W [D,D] as columns. Of a and -a it is
// the one whose largest component is positive.
func axes(gram torch.Tensor) torch.Tensor {
	_, vectors := gram.Eigh()
	d := int(vectors.Size(0))
	signs := make([]float64, d)
	values := vectors.Float64s()
	for column := range signs {
		largest := 0.0
		for row := range d {
			if v := values[row*d+column]; math.Abs(v) > math.Abs(largest) {
				largest = v
			}
		}
		signs[column] = math.Copysign(1, largest)
	}
	return vectors.Mul(torch.FromFloat64s(signs, torch.CPU, int64(d)))
}

// logPartitions gives log Z(a), and log Z(-a), for the columns a of directions [D,A].
func logPartitions(w, directions torch.Tensor) (plus, minus []float64) {
	add := func(sums []float64, scores torch.Tensor) []float64 {
		logs := scores.LogSumExp(0, false).Float64s()
		for i := range sums {
			high := math.Max(sums[i], logs[i])
			logs[i] = high + math.Log(math.Exp(sums[i]-high)+math.Exp(logs[i]-high))
		}
		return logs
	}
	eachChunk(w, func(x torch.Tensor) {
		scores := x.MatMul(directions)
		plus, minus = add(plus, scores), add(minus, scores.Neg())
	})
	return plus, minus
}

// spread gives min/max and standard deviation/mean of exp(logs), relative to the
// largest so that large scores do not overflow.
func spread(logs []float64) (ratio, deviation float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range logs {
		low, high = math.Min(low, l), math.Max(high, l)
	}
	mean := 0.0
	for _, l := range logs {
		mean += math.Exp(l-high) / float64(len(logs))
	}
	variance := 0.0
	for _, l := range logs {
		x := math.Exp(l-high) - mean
		variance += x * x / float64(len(logs))
	}
	return math.Exp(low - high), math.Sqrt(variance) / mean
}

// PartitionSpread is the population standard deviation of Z(a) = sum_i exp(w_i . a) over its mean, for the
// given number of directions a, drawn by s uniformly from the unit sphere: how far the partition function is from a
// constant for a state of length one that may point anywhere (Arora et al. 2016), where I2 looks along the eigenvectors
// only. It is 0 for one word whose vector is zero.
func PartitionSpread(w torch.Tensor, directions int64, s *torch.Stream) (deviation float64) {
	torch.ScopedNoGrad(func() {
		a := s.Normal(0, 1, torch.Float64, torch.CPU, w.Size(1), directions)
		logs, _ := logPartitions(w, a.Div(a.Norm(0, true)))
		_, deviation = spread(logs)
	})
	return deviation
}

// RowNorms are the lengths of the rows of w [V,D], in float64.
func RowNorms(w torch.Tensor) (norms []float64) {
	torch.ScopedNoGrad(func() {
		eachChunk(w, func(x torch.Tensor) { norms = append(norms, x.Norm(1, false).Float64s()...) })
	})
	return norms
}

// RankCorrelation is Spearman's: the correlation of the ranks of xs and ys, equal values sharing their mean rank. Pairs
// with a NaN are left out. It is NaN where one side does not vary.
func RankCorrelation(xs, ys []float64) float64 {
	var a, b []float64
	for i := range min(len(xs), len(ys)) {
		if !math.IsNaN(xs[i]) && !math.IsNaN(ys[i]) {
			a, b = append(a, xs[i]), append(b, ys[i])
		}
	}
	a, b = Ranks(a), Ranks(b)
	middle := float64(len(a)-1) / 2
	product, left, right := 0.0, 0.0, 0.0
	for i := range a {
		product += (a[i] - middle) * (b[i] - middle)
		left += (a[i] - middle) * (a[i] - middle)
		right += (b[i] - middle) * (b[i] - middle)
	}
	return product / math.Sqrt(left*right)
}

// Ranks gives each value its place among the sorted ones, from 0, and equal values the mean of theirs. NaNs come first
// and count as equal.
func Ranks(xs []float64) []float64 {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(xs[i], xs[j]) })
	places := make([]float64, len(xs))
	for start := 0; start < len(order); {
		end := start
		for end < len(order) && cmp.Compare(xs[order[end]], xs[order[start]]) == 0 {
			end++
		}
		for _, i := range order[start:end] {
			places[i] = float64(start+end-1) / 2
		}
		start = end
	}
	return places
}
