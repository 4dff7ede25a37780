package markup

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// translated is a document with each of its texts translated.
func translated(document string, translate func(Text) Translation) string {
	d := Parse(document, nil)
	var all []Translation
	for _, text := range d.Texts() {
		all = append(all, translate(text))
	}
	return d.Translated(all)
}

// shouting translates each word by its upper case, in the order that a function gives; links say which it was.
func shouting(order func(n int) []int) func(Text) Translation {
	return func(text Text) (x Translation) {
		words := strings.Fields(text.Line)
		for _, i := range order(len(words)) {
			word := strings.ToUpper(words[i])
			for _, keep := range text.Keep {
				if keep.MatchString(words[i]) {
					word = words[i]
				}
			}
			x.Words = append(x.Words, []int{i})
			x.Text += word + " "
		}
		x.Text = text.Line[:len(text.Line)-len(strings.TrimLeft(text.Line, " \n"))] + strings.TrimSpace(x.Text) +
			text.Line[len(strings.TrimRight(text.Line, " \n")):]
		return x
	}
}

func forwards(n int) (order []int) {
	for i := range n {
		order = append(order, i)
	}
	return order
}

func backwards(n int) []int {
	order := forwards(n)
	slices.Reverse(order)
	return order
}

// TestMarkup: tags stand around the translations of their words, wherever these go; blocks are texts of their own; what
// is no text stays to the letter.
func TestMarkup(t *testing.T) {
	for _, test := range []struct {
		in, out string
		order   func(int) []int
	}{
		{"", "", forwards},
		{"plain words", "PLAIN WORDS", forwards},
		{"<p>one <b>two three</b> four</p>", "<p>ONE <b>TWO THREE</b> FOUR</p>", forwards},
		{"<p>one <b>two three</b> four</p>", "<p>FOUR <b>THREE TWO</b> ONE</p>", backwards},
		{"a <i>b <b>c</b></i> d", "A <i>B <b>C</b></i> D", forwards},
		{"a <i>b <b>c</b></i> d", "D <i><b>C</b> B</i> A", backwards},
		{"<ul> <li>one</li>\n<li>two</li></ul>", "<ul> <li>ONE</li>\n<li>TWO</li></ul>", forwards},
		{"one<br/>two<BR>three", "ONE<br/>TWO<BR>THREE", forwards},
		{`<a href="?x=1&amp;y='2'" title=t>link</a>.`, `<a href="?x=1&amp;y='2'" title=t>LINK.</a>`, forwards},
		{"1 &lt; 2 &amp; &eacute;&nbsp;x", "1 &lt; 2 &amp; É X", forwards},
		{"see <img src=a.png> there", "SEE <img src=a.png>THERE", forwards},
		{"see <img src=a.png> there", "<img src=a.png>THERE SEE", backwards},
		{"icon <i class=x></i>", "ICON<i class=x></i> ", forwards},
		{"a<!-- <b> -->b <wbr>c", "AB <!-- <b> --><wbr>C", forwards},
		{"<script>if (a<b) {}</script>x<style>p>q{}</style>", "<script>if (a<b) {}</script>X<style>p>q{}</style>", forwards},
		{"<pre>int a;\n <b>x</b></pre>y", "<pre>int a;\n <b>x</b></pre>Y", forwards},
		{"run <code>ls</code> now", "RUN <code>ls</code> NOW", forwards},
		{`my <span translate="no">Acme</span> car`, `MY <span translate="no">Acme</span> CAR`, forwards},
		{`<p translate="no">Acme <b>one</b></p><p>two</p>`, `<p translate="no">Acme <b>one</b></p><p>TWO</p>`, forwards},
		{"<div class='x notranslate'>a<div>b</div>c</div>d", "<div class='x notranslate'>a<div>b</div>c</div>D", forwards},
		{`my <span translate="no">Acme<br>one <b>two</b></span> car`, `MY <span translate="no">Acme<br>one <b>two</b></span> CAR`, forwards},
		{"a <i>b <code>c <code>d</code><hr>e <code>f</code> g</code> h</i> i",
			"A <i>B <code>c <code>d</code><hr>e <code>f</code> g</code> H </i>I", forwards},
		{"<B Translate=No>a<div>b</div>c</B >d", "<B Translate=No>a<div>b</div>c</B >D", forwards},
		{"<a class=notranslate>b <svg><text>c</text></svg>d</a>e", "<a class=notranslate>b <svg><text>c</text></svg>d</a>E", forwards},
		{"<i>a <b translate=no>b</i> c<br>d</b> e", "<i>A <b translate=no>b</i> c<br>d</b> E", forwards},
		{"<b translate=no>not closed<br>one</body>two", "<b translate=no>NOT CLOSED<br>ONE</body>TWO", forwards},
		{"<p>run <code>ls</p><p>two</p>", "<p>RUN <code>LS</p><p>TWO</p>", forwards},
		{"a<br translate=no>b", "A<br translate=no>B", forwards},
		{"x </b> y <i> z", "X </b>Y <i>Z", forwards},
		{"a <b>b <i>c</b> d</i> e", "A <b>B <i>C</b> D </i>E", forwards},
		{"<!DOCTYPE html><title>t</title>", "<!DOCTYPE html><title>T</title>", forwards},
		{"<p>a < b", "<p>A &lt; B", forwards},
		{"<b>bold</b>", "<b>BOLD</b>", forwards},
		{"<p>  <b> spaced </b>  out </p>", "<p>   <b>SPACED</b> OUT </p>", forwards},
		{"<p> <span></span> </p>", "<p> <span></span> </p>", forwards},
	} {
		if out := translated(test.in, shouting(test.order)); out != test.out {
			t.Errorf("%s\nbecame %s\nwant   %s", test.in, out, test.out)
		}
	}
}

// TestMarkupSurvives: of any document each tag is there afterwards, and what was balanced is balanced.
func TestMarkupSurvives(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := strings.Fields("<b> </b> <code> </code> <i> </i> <a> </a> <p> </p> <br> <img> one two three four <!--x--> &amp; <x/>")
	shuffled := func(n int) []int { return random.Perm(n) }
	for range 3000 {
		var in strings.Builder
		for range random.IntN(16) {
			in.WriteString(pieces[random.IntN(len(pieces))])
			if random.IntN(2) == 0 {
				in.WriteString(" ")
			}
		}
		out := translated(in.String(), shouting(shuffled))
		before, after := tagsOf(in.String()), tagsOf(out)
		for name, n := range before {
			if m := after[name]; m < n {
				t.Errorf("%s became %s: %s stands %d times, and stood %d times", in.String(), out, name, m, n)
			}
		}
		for _, name := range []string{"b", "i", "a"} {
			if more := after["<"+name+">"] - before["<"+name+">"]; more != after["</"+name+">"]-before["</"+name+">"] {
				t.Errorf("%s became %s: <%s> is opened and closed unlike before", in.String(), out, name)
			}
		}
	}
}

// tagsOf counts tags.
func tagsOf(document string) map[string]int {
	counts := map[string]int{}
	z := html.NewTokenizer(strings.NewReader(document))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return counts
		case html.TextToken:
		default:
			counts[string(z.Raw())]++
		}
	}
}
