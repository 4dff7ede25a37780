package report

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/chart"
)

// The page is one file: it holds its pictures, asks for nothing else, and lets no text of the corpus become HTML.
func TestPage(t *testing.T) {
	p := Page{
		Title:   "toy: spectrum",
		Run:     []Field{{"commit", "0123abc"}},
		Scores:  Table{Head: []string{"", "BLEU"}, Rows: [][]string{{"test", "41.0"}}},
		Plots:   []chart.Plot{{Name: "training.png", Title: "Training", PNG: []byte("picture")}},
		Matrix:  []Field{{"mean cosine", "0.01"}},
		Course:  []Field{{"updates", "200"}},
		Results: `{"updates": 200}`,
		Samples: []Sample{{Source: "a <script>alert(1)</script>", Output: "ein & zwei"}},
		Config:  "# Explained.\n[train]\n# Seed.\nseed = 1\n",
	}
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	page := text.String()
	for _, want := range []string{
		"<title>toy: spectrum</title>", "<th>commit</th><td>0123abc</td>", "<th></th><th>BLEU</th>",
		"<th>test</th><td>41.0</td>", "<th>mean cosine</th><td>0.01</td>", "<pre>{&#34;updates&#34;: 200}</pre>",
		`src="data:image/png;base64,` + base64.StdEncoding.EncodeToString([]byte("picture")) + `" alt="Training"`,
		"a &lt;script&gt;", "ein &amp; zwei", "<pre>[train]\nseed = 1</pre>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	// What a reader wants first comes first.
	last := 0
	for _, part := range []string{"0123abc", "41.0", "data:image", "mean cosine", "<script", "updates"} {
		at := strings.Index(page, strings.Replace(part, "<script", "&lt;script", 1))
		if at < last {
			t.Errorf("%q stands at %d, before what should come before it", part, at)
		}
		last = at
	}
	if policy := `content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;; img-src data:; ` +
		`base-uri &#39;none&#39;; form-action &#39;none&#39;"`; !strings.Contains(page, policy) {
		t.Errorf("the page does not forbid to load and run anything else:\n%.600s", page)
	}
	for _, unwanted := range []string{"<script", "href=", "http:", "https:", "reference", "ZgotmplZ"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("the page holds %q:\n%s", unwanted, page)
		}
	}
	text.Reset()
	if err := (&Page{Title: "empty"}).Write(&text); err != nil || strings.Contains(text.String(), "<h2>") {
		t.Errorf("an empty page: %v\n%s", err, text.String())
	}
}

// TestHostilePage: no text of a run folder becomes HTML, wherever it stands in the page.
func TestHostilePage(t *testing.T) {
	const bad = "</pre></style></title><script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg onload=alert(1)>" +
		"javascript:alert(1)\x00\x1b[2J"
	var text bytes.Buffer
	p := Page{Title: bad, Doubt: bad, Run: []Field{{bad, bad}}, Scores: Table{Head: []string{bad}, Rows: [][]string{{bad, bad}}},
		Plots: []chart.Plot{{Name: bad, Title: bad, PNG: []byte(bad)}}, Matrix: []Field{{bad, bad}},
		Samples: []Sample{{bad, bad, bad}}, Course: []Field{{bad, bad}}, Results: bad, Config: bad}
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, unwanted := range []string{"<script", "<img src=x", "<svg", "onerror=alert(1)>\"", "\x00"} {
		if strings.Contains(text.String(), unwanted) {
			t.Errorf("the page holds %q", unwanted)
		}
	}
	if n := strings.Count(text.String(), "<title>"); n != 1 {
		t.Errorf("%d titles", n)
	}
}

// TestTable: what stands out does in every form, and no cell ends its column.
func TestTable(t *testing.T) {
	table := Table{[]string{"a|b", "c"}, [][]string{{"x_1", "1 ± 2"}, {"<y>", "3"}}, []int{-1, 0}}
	if got, want := table.Markdown(), "| a\\|b | c |\n|---|---|\n| x_1 | **1 ± 2** |\n| <y> | 3 |\n"; got != want {
		t.Errorf("Markdown: %q, want %q", got, want)
	}
	want := "\\begin{tabular}{lr}\n\\toprule\na|b & c \\\\\n\\midrule\nx\\_1 & \\textbf{1 $\\pm$ 2} \\\\\n$<$y$>$ & " +
		"3 \\\\\n\\bottomrule\n\\end{tabular}\n"
	if got := table.LaTeX(); got != want {
		t.Errorf("LaTeX: %q, want %q", got, want)
	}
	var page bytes.Buffer
	if err := Shared.ExecuteTemplate(&page, "table", table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<th>a|b</th><th>c</th>", "<th>x_1</th><td><strong>1 ± 2</strong></td>",
		"<th>&lt;y&gt;</th><td>3</td>"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q: %s", want, page.String())
		}
	}
}
