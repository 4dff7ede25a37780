package translation_test

import (
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
)

// TestInt8Translate: eight bits translate what was learnt as well, and a translator goes from
// one arithmetic to the other and back.
func TestInt8Translate(t *testing.T) {
	eachNetwork(t, func(t *testing.T, made *translation.Translator) {
		source, _ := numbers(11, 100, 10)
		exact := made.Settings.Decode
		rough := exact
		rough.Int8 = true
		want := translate(t, made, source, exact)
		got := translate(t, made, source, rough)
		equal := 0
		for i := range want {
			if got[i].Text == want[i].Text {
				equal++
			}
		}
		if equal < len(want)-2 {
			t.Errorf("%d of %d translations are equal", equal, len(want))
		}
		if again := translate(t, made, source, rough); !slices.Equal(again, got) {
			t.Error("the second call with eight bits gives something else")
		}
		if again := translate(t, made, source, exact); !slices.Equal(again, want) {
			t.Error("after eight bits float32 gives something else")
		}
		if _, err := made.Translate(t.Context(), source[:1], decode.Options{Int8: true}); err == nil {
			t.Error("options without a beam are taken")
		}
	})
}
