package vectors

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/tokenize"
)

// TestCountsOfPairs: a window of two over "a b a" with the end of sentence, by hand.
func TestCountsOfPairs(t *testing.T) {
	v := words("a", "b")
	a, b, end := v.ID("a"), v.ID("b"), int32(tokenize.EOS)
	c, err := count([][]int32{{a, b, a}}, v.Len(), 2)
	if err != nil {
		t.Fatal(err)
	}
	got := map[[2]int32]int64{}
	for i := range int32(v.Len()) {
		for k := c.at[i]; k < c.at[i+1]; k++ {
			got[[2]int32{i, c.columns[k]}] = c.weights[k]
			if k > c.at[i] && c.columns[k] <= c.columns[k-1] {
				t.Errorf("the columns of row %d do not rise", i)
			}
		}
	}
	want := map[[2]int32]int64{{a, b}: 4, {b, a}: 4, {a, a}: 2, {a, end}: 2, {end, a}: 2, {b, end}: 1, {end, b}: 1}
	for pair, n := range want {
		if got[pair] != n {
			t.Errorf("pair %v weighs %d, want %d", pair, got[pair], n)
		}
	}
	if len(got) != len(want) || c.totals[a] != 8 || c.totals[b] != 5 || c.totals[end] != 3 {
		t.Errorf("the pairs are %v, totals %v", got, c.totals)
	}
}

// dense spells a sparse matrix out.
func (m *sparse) dense() *mat.Dense {
	d := mat.NewDense(m.size(), m.size(), nil)
	for i := range m.size() {
		for k := m.at[i]; k < m.at[i+1]; k++ {
			d.Set(i, int(m.columns[k]), float64(m.forward[k]))
		}
	}
	return d
}

// TestInformationByDefinition computes the matrix without sparsity, and its transpose by the
// second list of values.
func TestInformationByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sentences := text(r, 200, 30)
	c, err := count(sentences, 30, 3)
	if err != nil {
		t.Fatal(err)
	}
	n := mat.NewDense(30, 30, nil)
	for i := range 30 {
		for k := c.at[i]; k < c.at[i+1]; k++ {
			n.Set(i, int(c.columns[k]), float64(c.weights[k]))
		}
	}
	sum := 0.0
	for _, total := range c.totals {
		sum += math.Pow(total, 0.75)
	}
	m := information(c)
	got := m.dense()
	for i := range 30 {
		for j := range 30 {
			want := 0.0
			if n.At(i, j) > 0 {
				want = max(0, math.Log(n.At(i, j)/c.totals[i]*sum/math.Pow(c.totals[j], 0.75)))
			}
			if math.Abs(got.At(i, j)-want) > 1e-6 {
				t.Fatalf("entry %d,%d is %v, want %v", i, j, got.At(i, j), want)
			}
		}
	}
	for i := range 30 {
		for k := m.at[i]; k < m.at[i+1]; k++ {
			if want := got.At(int(m.columns[k]), i); math.Abs(float64(m.backward[k])-want) > 1e-6 {
				t.Fatalf("the transpose's entry %d,%d is %v, want %v", i, m.columns[k], m.backward[k], want)
			}
		}
	}
}

// text is sentences of symbols from 4 to v-1, frequent ones first, in which the next word
// depends on the last.
func text(r *rand.Rand, lines, v int) [][]int32 {
	all := make([][]int32, lines)
	for i := range all {
		word := 4 + r.IntN(v-4)
		for range 3 + r.IntN(12) {
			all[i] = append(all[i], int32(word))
			word = 4 + (word*7+int(float64(v-4)*math.Pow(r.Float64(), 3)/4))%(v-4)
		}
	}
	return all
}

// TestDecompositionIsNearlyTheBest compares with the full decomposition: the leading values
// agree, vectors are orthonormal, and what is left over is hardly more than it must be.
func TestDecompositionIsNearlyTheBest(t *testing.T) {
	c, err := count(text(rand.New(rand.NewPCG(3, 4)), 2000, 150), 150, 5)
	if err != nil {
		t.Fatal(err)
	}
	m := information(c)
	var svd mat.SVD
	d := m.dense()
	if !svd.Factorize(d, mat.SVDThin) {
		t.Fatal("no decomposition")
	}
	exact := svd.Values(nil)
	const width = 40
	u, values := m.decompose(width, 1)
	for k, s := range values {
		if limit := 1e-6 + 0.05*float64(k)/width; math.Abs(s-exact[k]) > limit*exact[k] {
			t.Errorf("singular value %d is %v, want %v", k, s, exact[k])
		}
	}
	basis := mat.NewDense(150, width, u)
	var gram, part, rest mat.Dense
	gram.Mul(basis.T(), basis)
	for i := range width {
		for j := range width {
			if want := map[bool]float64{true: 1}[i == j]; math.Abs(gram.At(i, j)-want) > 1e-10 {
				t.Fatalf("the product of vectors %d and %d is %v", i, j, gram.At(i, j))
			}
		}
	}
	part.Mul(basis.T(), d)
	rest.Mul(basis, &part)
	rest.Sub(d, &rest)
	least := 0.0
	for _, s := range exact[width:] {
		least += s * s
	}
	if left := mat.Norm(&rest, 2); left > 1.01*math.Sqrt(least) {
		t.Errorf("%v is left over, %v at best", left, math.Sqrt(least))
	}
}

// TestBuildIsDeterministic: the same on one processor and on several; another seed turns
// the projection, not the result by much.
func TestBuildIsDeterministic(t *testing.T) {
	v := words(strings.Fields(letters(56))...)
	sentences := text(rand.New(rand.NewPCG(5, 6)), 1500, v.Len())
	o, seed := Options{Width: 20, Window: 4}, uint64(1)
	build := func() *Table {
		table, err := Build(sentences, v, o, seed)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	first := build()
	before := runtime.GOMAXPROCS(1)
	second := build()
	runtime.GOMAXPROCS(before)
	if !slices.Equal(first.Rows, second.Rows) {
		t.Error("vectors depend on the number of processors")
	}
	if first.Missing != 1 || first.Width != 20 { // <unk> does not occur
		t.Errorf("the table has width %d and lacks %d", first.Width, first.Missing)
	}
	row(t, first, tokenize.Pad, make([]float64, 20)...)
	row(t, first, tokenize.BOS, make([]float64, 20)...)
	end := make([]float64, 20)
	for i := range end {
		end[i] = math.Pow(-1, float64(i)) / math.Sqrt(20)
	}
	row(t, first, tokenize.EOS, end...)
	for id := int32(4); id < int32(v.Len()); id++ {
		length := 0.0
		for _, x := range first.Row(id) {
			length += float64(x) * float64(x)
		}
		if math.Abs(length-1) > 1e-6 {
			t.Errorf("row %d has length %v", id, math.Sqrt(length))
		}
	}
	seed = 2
	if slices.Equal(first.Rows, build().Rows) {
		t.Error("the seed has no effect")
	}
	o.Width = 1000
	if w := build().Width; w > v.Len() {
		t.Errorf("%d words have vectors of %d numbers", v.Len(), w)
	}
}

// letters is n different words.
func letters(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(string([]rune{'a' + rune(i/26), 'a' + rune(i%26)}) + " ")
	}
	return b.String()
}

// TestVectorsOfMulti30k: words that mean the like stand together.
func TestVectorsOfMulti30k(t *testing.T) {
	raw, err := os.ReadFile(fixtures.Path(t, "multi30k/train.de"))
	if err != nil {
		t.Fatal(err)
	}
	moses, err := tokenize.NewMoses(tokenize.MosesOptions{Language: "de"})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	var lines [][]string
	for line := range strings.Lines(string(raw[:len(raw)/3])) {
		fields := strings.Fields(moses.Tokenize(tokenize.Lowercase(strings.TrimSpace(line))))
		lines = append(lines, fields)
		for _, word := range fields {
			counts[word]++
		}
	}
	v := tokenize.NewVocabulary(counts, tokenize.VocabularyOptions{})
	sentences := make([][]int32, len(lines))
	for i, line := range lines {
		sentences[i] = v.Encode(line)
	}
	o := Options{Width: 300, Window: 2}
	o.Width = 60 // a tenth of the time
	start := time.Now()
	table, err := Build(sentences, v, o, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d symbols, width %d, %d missing: %v", v.Len(), table.Width, table.Missing,
		time.Since(start).Round(time.Millisecond))
	for word, like := range map[string][]string{
		"mann": {"herr", "mensch"}, "rennt": {"läuft", "springt", "hüpft"}, "roten": {"blauen", "grünen"},
		"drei": {"zwei", "vier"}, "mädchen": {"junge", "kind"},
	} {
		var near []string
		for _, n := range table.Nearest(v.ID(word), 10) {
			near = append(near, v.Token(n.ID))
		}
		t.Logf("%s: %s", word, strings.Join(near, " "))
		if !slices.ContainsFunc(near, func(w string) bool { return slices.Contains(like, w) }) {
			t.Errorf("near %q there is none of %v, but %v", word, like, near)
		}
	}
}
