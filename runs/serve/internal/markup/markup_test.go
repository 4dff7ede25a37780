package markup

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// translated is a document with each of its texts translated.
func translated(document string, translate func(Text) Translation) string {
	return translatedAs(Options{}, document, translate)
}

func translatedAs(o Options, document string, translate func(Text) Translation) string {
	d := Parse(document, o)
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
			at := wordsOf(text.Line)[i]
			for _, keep := range text.Keep {
				if keep[0] < at.to && at.from < keep[1] {
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
		{"<p>one</p><xmp>a<b & c &amp;</xmp><p>two</p>", "<p>ONE</p><xmp>a<b & c &amp;</xmp><p>TWO</p>", forwards},
		{"<noframes>see <b>it</b></noframes>x<noembed>a <i>b</i> &lt;</noembed>",
			"<noframes>see <b>it</b></noframes>X<noembed>a <i>b</i> &lt;</noembed>", forwards},
		{"a<plaintext>b <i>c</i> & d", "A<plaintext>b <i>c</i> & d", forwards},
		{"run <code>ls</code> now", "RUN <code>ls</code> NOW", forwards},
		{"run <code>&quot;a&quot; > &eacute;</code> now", "RUN <code>&quot;a&quot; > &eacute;</code> NOW", forwards},
		{"<p>&#160; <code>&quot;</code></p>one", "<p>&#160; <code>&quot;</code></p>ONE", forwards},
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
		{"<img class=notranslate>run <code>ls</code>", "<img class=notranslate>RUN <code>ls</code>", forwards},
		{"<p><b translate=no>run <code>ls</code> now</p><b>two</b>",
			"<p><b translate=no>RUN <code>ls</code> NOW</p><b>TWO</b>", forwards},
		{"<b translate=no>a <code>b<br>c</code> d", "<b translate=no>A <code>b<br>c</code> D", forwards},
		{"<b translate=no>a <code>b</code><br>c</b> d", "<b translate=no>a <code>b</code><br>c</b> D", forwards},
		{"<i translate=no>a <code>b</i> c<br>d</code> e", "<i translate=no>a <code>b</i> C<br>D </code>E", forwards},
		{"<title/><p>one</p>", "<title/><p>ONE</p>", forwards},
		{"<script src='a.js'/><p>one <textarea/><iframe/>two</p>",
			"<script src='a.js'/><p>ONE <textarea/><iframe/>TWO</p>", forwards},
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

// TestXML: elements have no meaning of their own; what holds elements alone is structure, in which texts end; sections
// of CDATA stay.
func TestXML(t *testing.T) {
	for _, test := range [][2]string{
		{"<doc><title>one <em>two</em></title><p>three</p></doc>", "<doc><title>ONE <em>TWO</em></title><p>THREE</p></doc>"},
		{"<doc><title/><a>one</a>\n<a>two</a></doc>", "<doc><title/><a>ONE</a>\n<a>TWO</a></doc>"},
		{"<d><p><![CDATA[if a > b]]> one</p></d>", "<d><p> <![CDATA[if a > b]]>ONE</p></d>"},
		{"<d><![CDATA[a]]></d>", "<d><![CDATA[a]]></d>"},
		{"<script>one <x/>two</script>", "<script>ONE <x/>TWO</script>"},
		{"one <p>two <b><i>three</i></b></p>", "ONE <p>TWO <b><i>THREE</i></b></p>"},
		{`<?xml version="1.0"?><d><k>one</k> <code>two</code></d>`, `<?xml version="1.0"?><d><k>one</k> <code>TWO</code></d>`},
		{"<d><k>one<x/>two</k><b>two</d></b>", "<d><k>one<x/>two</k><b>TWO</d></b>"},
		{"<d>one</d> two", "<d>ONE</d> TWO"},
	} {
		out := translatedAs(Options{XML: true, Ignored: map[string]bool{"k": true}}, test[0], shouting(forwards))
		if out != test[1] {
			t.Errorf("%s\nbecame %s\nwant   %s", test[0], out, test[1])
		}
	}
}

// TestSplitting: a text ends at the elements that a caller names, at no others where it names those that do not end
// one.
func TestSplitting(t *testing.T) {
	names := func(names ...string) map[string]bool {
		set := map[string]bool{}
		for _, name := range names {
			set[name] = true
		}
		return set
	}
	for _, test := range []struct {
		in, texts string
		o         Options
	}{
		{"<d><a>b c</a><a>d</a></d>", "b c|d", Options{XML: true}},
		{"<d><a>b c</a> <a>d</a></d>", "b c d", Options{XML: true, NoOutline: true}},
		{"<d><a>b c</a> <a>d</a></d>", "b c d", Options{XML: true, NonSplitting: names("a")}},
		{"<d>x <a>b c</a> <e>y</e></d>", "x|b c|y", Options{XML: true, Splitting: names("a"), NoOutline: true}},
		{"<d>x <a>b c</a> <e>y</e></d>", "x b c y", Options{XML: true}},
		{"<d>x <a/>b <!--a-->c</d>", "x|b c", Options{XML: true, Splitting: names("a", "")}},
		{"<p>one</p> <p>two <b>three</b></p>", "one two|three", Options{NonSplitting: names("p"), Splitting: names("b")}},
		{"one <span translate=no>two</span> <img translate=no> three", "one|three",
			Options{Splitting: names("span", "img")}},
	} {
		var texts []string
		for _, x := range Parse(test.in, test.o).Texts() {
			texts = append(texts, strings.Join(strings.Fields(x.Line), " "))
		}
		if got := strings.Join(texts, "|"); got != test.texts {
			t.Errorf("%s has the texts %s, want %s", test.in, got, test.texts)
		}
		if out := translatedAs(test.o, test.in, shouting(forwards)); strings.Count(out, "<") != strings.Count(test.in, "<") {
			t.Errorf("%s became %s", test.in, out)
		}
	}
}

// TestLineBreaks: line breaks within a text are spaces, but where they end sentences and are not kept.
func TestLineBreaks(t *testing.T) {
	const document = "<p>\n one\r\ntwo <code>a\n b</code> </p><pre>c\nd</pre><code>e\nf</code>\n"
	for lines, want := range map[bool]string{false: "\n one  two a  b ", true: "\n one\r\ntwo a  b "} {
		d := Parse(document, Options{Lines: lines})
		texts := d.Texts()
		if len(texts) != 1 || texts[0].Line != want {
			t.Fatalf("lines %v: the texts are %q", lines, texts)
		}
		out := d.Translated([]Translation{{Text: "\n ONE TWO a  b ", Words: [][]int{{0}, {1}, {2}, {3}}}})
		if want := "<p>\n ONE TWO <code>a\n b</code> </p><pre>c\nd</pre><code>e\nf</code>\n"; out != want {
			t.Errorf("lines %v: %q, want %q", lines, out, want)
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
		before, after := tagsOf(in.String(), false), tagsOf(out, false)
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
func tagsOf(document string, xml bool) map[string]int {
	counts := map[string]int{}
	z := newTokens(document, xml)
	for {
		switch kind, raw := z.next(); kind {
		case html.ErrorToken:
			return counts
		case html.TextToken:
		default:
			counts[raw]++
		}
	}
}

// TestLargeDocuments: a document takes time by its length, whatever its tags, and loses none of them.
func TestLargeDocuments(t *testing.T) {
	const bytes, most = 1 << 17, 5 * time.Second
	began := fixtures.ProcessorTime()
	for _, unit := range []string{"<b>x</b> ", "</b>x ", "<b>x ", "<b></i>", "<b></i>x ", "<b>x</i> ", "<code>a</code> b ",
		"<b>x <i>y</b> z</i> ", "<!-- c -->x ", "<p>x", "&p; x ", "<code>x ", "<i translate=no><svg/>x "} {
		n := bytes / len(unit)
		document := strings.Repeat(unit, n) + strings.Repeat("</b> ", n)
		for _, xml := range []bool{false, true} {
			out := translatedAs(Options{XML: xml}, document, func(text Text) Translation {
				x := Translation{Text: text.Line}
				for i := range strings.Fields(text.Line) {
					x.Words = append(x.Words, []int{i})
				}
				return x
			})
			for _, tag := range []string{"<b>", "</b>", "<i>", "</i>", "<code>", "</code>", "<!-- c -->", "<p>"} {
				if was, is := strings.Count(document, tag), strings.Count(out, tag); was != is {
					t.Errorf("%q n times, XML %v: of %d %s %d are left", unit, xml, was, tag, is)
				}
			}
			if took := fixtures.ProcessorTime() - began; took > most {
				t.Fatalf("%q n times, XML %v: %v of a processor are over", unit, xml, took)
			}
		}
	}
}

// TestDeepNesting: the outer elements hold a word, and the tags of what lies too deep stand by themselves.
func TestDeepNesting(t *testing.T) {
	const depth = deepest + 10
	in := strings.Repeat("<b>", depth) + "x" + strings.Repeat("</b>", depth) + " y"
	out := translated(in, shouting(backwards))
	// The ten innermost elements lie too deep. Their end tags stand before the word behind them.
	want := strings.Repeat("</b>", 10) + "Y " + strings.Repeat("<b>", depth) + "X" + strings.Repeat("</b>", deepest)
	if out != want {
		t.Errorf("%s, want %s", out, want)
	}
}
