package markup

import "testing"

// TestEntities: a document of XML keeps its declarations, and each reference to what they declare, or to what HTML does
// not know, in the place of its sentence. Other references become characters.
func TestEntities(t *testing.T) {
	const declared = "<?xml version='1.0'?>\n<!-- it's -->\n<!DOCTYPE d SYSTEM 'a>b' [ <!-- don't ]> -->\n" +
		`<!ENTITY p "Foo ]> bar"> <?x ]>"?> <!ENTITY prod 'it"s'> ] >`
	for _, test := range [][2]string{
		{`<!DOCTYPE d [<!ENTITY p "Foo">]><d><p>use &p; now</p></d>`,
			`<!DOCTYPE d [<!ENTITY p "Foo">]><d><p>USE &p; NOW</p></d>`},
		{declared + "<d>use &prod;, &p;s &amp;p; &sum;</d>", declared + "<d>USE &prod;, &p;s &amp;P; \u2211</d>"},
		{"<d><k>&p; &amp;p;</k> a <k>b<i>&p;</i></k></d>", "<d><k>&p; &amp;p;</k> A <k>b<i>&p;</i></k></d>"},
		{"<d><a>&p;</a><a>one <k>two &p;</a></d>", "<d><a>&p;</a><a>ONE <k>TWO &p;</a></d>"},
		{"<d>a&notit;b &semi;&#59;&eacute; R&amp;D</d>", "<d>a&notit;b ;;\u00c9 R&amp;D</d>"},
		{"<!DOCTYPE d SYSTEM 'a.dtd'><d>one</d>", "<!DOCTYPE d SYSTEM 'a.dtd'><d>ONE</d>"},
		{"<!DOCTYPE d [<!ENTITY p 'Foo'>", "<!DOCTYPE d [<!ENTITY p 'Foo'>"},
	} {
		out := translatedAs(Options{XML: true, Ignored: map[string]bool{"k": true}}, test[0], shouting(forwards))
		if out != test[1] {
			t.Errorf("%s\nbecame %s\nwant   %s", test[0], out, test[1])
		}
	}
}

// TestEntityThatIsLost: a reference that the translation does not hold stands before the word that followed it.
func TestEntityThatIsLost(t *testing.T) {
	document := Parse("<d>use &p; now</d>", Options{XML: true})
	if texts := document.Texts(); len(texts) != 1 || len(texts[0].Keep) != 1 || texts[0].Keep[0] != [2]int{4, 7} {
		t.Errorf("the texts are %+v", texts)
	}
	out := document.Translated([]Translation{{Text: "USE NOW", Words: [][]int{{0}, {2}}}})
	if out != "<d>USE &p;NOW</d>" {
		t.Error(out)
	}
}

// TestNoBreakSpace: it is written by a name in HTML alone, which is what defines that name, and stays where it is kept.
func TestNoBreakSpace(t *testing.T) {
	for _, xml := range []bool{false, true} {
		want := "<p>a&nbsp;b <i>c&#160;d</i></p>"
		if xml {
			want = "<p>a\u00a0b <i>c&#160;d</i></p>"
		}
		o := Options{XML: xml, Ignored: map[string]bool{"i": true}}
		out := translatedAs(o, "<p>a\u00a0b <i>c&#160;d</i></p>", func(text Text) Translation {
			return Translation{Text: text.Line}
		})
		if out != want {
			t.Errorf("XML %v: %s, want %s", xml, out, want)
		}
	}
}
