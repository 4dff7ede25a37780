package train

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestNetworksInBFloat16: every network trains with products in bfloat16, near what it does in float32.
func TestNetworksInBFloat16(t *testing.T) {
	if !torch.HasBFloat16() {
		t.Skip("this processor has no instructions for bfloat16")
	}
	translators := map[string][]string{"transformer": nil,
		"attentional": {"-set=model.kind=attentional", "-set=model.decoder_layers=2"}}
	texts := map[string][]string{
		"awd-lstm": nil, "qrnn": {"-set=model.kind=qrnn"}, "gru": {"-set=model.kind=gru"},
		"transformer-xl": {"-set=model.kind=transformer-xl", "-set=model.heads=2", "-set=model.ffn_width=16",
			"-set=model.memory=9", "-set=train.optimizer=adam", "-set=train.learning_rate=0.01"},
		"gpt":        gptSettings("learned"),
		"gpt rotary": gptSettings("rotary"),
	}
	check := func(name string, folder func(*testing.T) string, run func(*testing.T, string, ...string),
		settings []string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := folder(t)
			run(t, place, append(settings, "-out=single")...)
			run(t, place, append(settings, "-out=half", "-set=train.precision=bfloat16")...)
			want, got := metricsOf(t, place, "single"), metricsOf(t, place, "half")
			for i := range want {
				if math.Abs(want[i]["loss"]-got[i]["loss"]) > 0.05*math.Abs(want[i]["loss"]) ||
					!(got[i]["loss"] < 100) {
					t.Errorf("line %d: the loss is %v in float32 and %v in bfloat16", i, want[i]["loss"],
						got[i]["loss"])
				}
			}
		})
	}
	for name, settings := range translators {
		check(name, workplace, train, append(append([]string{"-set=train.log_every=1"}, still...), settings...))
	}
	for name, settings := range texts {
		check(name, textPlace, trainText, append(append([]string{}, stillText...), settings...))
	}
}

// TestAutoPrecision: the run's configuration has what the key stood for, and a line says why.
func TestAutoPrecision(t *testing.T) {
	t.Parallel()
	for kind, measured := range map[string]bool{"awd-lstm": true, "qrnn": false} {
		want, why := "float32", "no instructions for bfloat16"
		if torch.HasBFloat16() {
			why = "was not measured"
			if measured {
				want, why = "bfloat16", "was measured faster"
			}
		}
		place := textPlace(t)
		e := mustRunText(t, place, "-quiet", "-set=train.precision=auto", "-set=model.kind="+kind, "-steps=1",
			"-out=run")
		log := read(t, place, "run", "train.log")
		if !strings.Contains(log, "train.precision is "+want) || !strings.Contains(log, why) || e.stdout != "" {
			t.Errorf("%s: the run prints %q, and its log is\n%s", kind, e.stdout, log)
		}
		if !strings.Contains(read(t, place, "run", "config.toml"), fmt.Sprintf("precision = %q", want)) {
			t.Errorf("%s: config.toml does not have %s", kind, want)
		}
	}
}

// gptSettings are of a GPT with one kind of positions.
func gptSettings(positions string) []string {
	return []string{"-set=model.kind=gpt", "-set=model.heads=2", "-set=model.ffn_width=16",
		"-set=model.positions=" + positions, "-set=model.activation=gelu_tanh", "-set=train.bptt_random=false", "-set=train.optimizer=adam",
		"-set=train.learning_rate=0.01"}
}
