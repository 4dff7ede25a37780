package markup

import (
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzMarkup translates documents of anything in place: no panic, time that is a small multiple of their size, and each
// tag is there afterwards.
func FuzzMarkup(f *testing.F) {
	for _, document := range []string{"<p>one <b>two</b></p>", "<b>a<i>b</b>c</i>", "<script>x</script>", "<!--", "<a href='x", "&amp;&#0;&",
		"<p>" + strings.Repeat("<b>", 300) + "x", "\x00<\xff>", "<svg><![CDATA[x]]></svg>", "<p translate=no>x</p>",
		`<!DOCTYPE d [<!ENTITY p "x">]><d>&p; a</d>`,
		"<i translate=no>a <code>b</i> <b translate=no>c<br></b></code><title/>"} {
		f.Add(document)
	}
	f.Fuzz(func(t *testing.T, document string) {
		for _, o := range []Options{{}, {XML: true, Lines: true}} {
			var out string
			fixtures.Promise(t, 20*len(document), func() error {
				out = translatedAs(o, document, shouting(forwards))
				return nil
			})
			after := tagsOf(out, o.XML)
			for tag, n := range tagsOf(document, o.XML) {
				if after[tag] < n {
					t.Errorf("%+v: %q became %q: %q stands %d times, and stood %d times", o, document, out, tag, after[tag], n)
				}
			}
		}
	})
}
