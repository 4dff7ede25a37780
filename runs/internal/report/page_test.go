package report

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFields(t *testing.T) {
	got, err := Fields([]byte(`{"run":"toy","seed":12345678901,"data":{"sha256":{"a.de":"0f"},"synthetic":true},"valid":{"ppl":12.3456789,"nll":null},
		"test":{},"few":[1,2.5,null],"singular_values":[9,8,7,6,5,4,3,2,1.23456789],"none":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Field{{"run", "toy"}, {"seed", "12345678901"}, {"data.sha256.a.de", "0f"}, {"data.synthetic", "true"}, {"valid.ppl", "12.3457"}, {"valid.nll", "–"},
		{"few", "1, 2.5, –"}, {"singular_values", "9 values, 9 to 1.23457"}, {"none", ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "[1]", "3", `{"a":`, `{"a":[1,`, `{"a":{"b":1}`} {
		if _, err := Fields([]byte(text)); err == nil {
			t.Errorf("%q is no object", text)
		}
	}
}

// The page is one file: it holds its pictures, asks for nothing else, and lets no text of the corpus become HTML.
func TestPage(t *testing.T) {
	p := Page{
		Title:   "toy: spectrum",
		Summary: []Field{{"BLEU", "41.0"}},
		Results: []Field{{"valid.ppl", "12.3"}},
		Plots:   []Plot{{"training.png", "Training", []byte("picture")}},
		Samples: []Sample{{Source: "a <script>alert(1)</script>", Output: "ein & zwei"}},
		Config:  "# Explained.\n[train]\n# Seed.\nseed = 1\n",
	}
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	page := text.String()
	for _, want := range []string{
		"<title>toy: spectrum</title>", "<th>BLEU</th><td>41.0</td>", "<th>valid.ppl</th><td>12.3</td>",
		`src="data:image/png;base64,` + base64.StdEncoding.EncodeToString([]byte("picture")) + `" alt="Training"`,
		"a &lt;script&gt;", "ein &amp; zwei", "<pre>[train]\nseed = 1</pre>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	for _, unwanted := range []string{"<script", "href=", "http", "reference", "ZgotmplZ"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("the page holds %q:\n%s", unwanted, page)
		}
	}
	text.Reset()
	if err := (&Page{Title: "empty"}).Write(&text); err != nil || strings.Contains(text.String(), "<h2>") {
		t.Errorf("an empty page: %v\n%s", err, text.String())
	}
}
