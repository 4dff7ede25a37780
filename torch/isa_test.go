package torch_test

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/torch"
)

// kernels are all that have code for each instruction set. Each is called by a test
// of this package, with the set in use, to which TestMain sees after a whole run;
// those of search/decoder_step.cc by TestDecoderInThreads of package models.
var kernels = []string{
	"attention/attentional.cc/mask_columns", "attention/attentional.cc/tanh_columns",
	"attention/attentional.cc/tanh_columns_back",
	"attention/attentional_step.cc/add_and_tanh",
	"attention/word_attention.cc/softmax_words", "attention/word_attention.cc/softmax_words_back",
	"losses/continuous_loss.cc/combine_double", "losses/continuous_loss.cc/combine_float",
	"losses/continuous_loss.cc/products_double", "losses/continuous_loss.cc/products_float",
	"losses/mixture_row.cc/add_exponentials_float", "losses/mixture_row.cc/differentiate_float",
	"losses/mixture_row.cc/log_mixture_float", "losses/mixture_row.cc/responsibilities_float",
	"losses/softmax_row.cc/add_bits", "losses/softmax_row.cc/exponentials_float",
	"losses/softmax_row.cc/round_bits", "losses/softmax_row.cc/scale_and_lower_float",
	"losses/softmax_row.cc/widen_bits",
	"operators/activation.cc/gelu_back_bfloat16", "operators/activation.cc/gelu_back_float",
	"operators/activation.cc/gelu_bfloat16", "operators/activation.cc/gelu_float",
	"operators/random.cc/dropout_bfloat16", "operators/random.cc/dropout_float",
	"operators/random.cc/noise_float",
	"operators/residual_norm.cc/backward_rows", "operators/residual_norm.cc/forward_rows",
	"penalties/cosine_penalty.cc/add_scaled", "penalties/cosine_penalty.cc/combine",
	"penalties/cosine_penalty.cc/dot", "penalties/cosine_penalty.cc/dot_double",
	"products/int8_linear.cc/finish", "products/int8_linear.cc/quantise_row",
	"products/panels.cc/four_vectors", "products/panels.cc/two_vectors",
	"products/step_panels.cc/copy_rows", "products/step_panels.cc/pack_columns",
	"products/step_panels.cc/transpose_rows",
	"products/thin.cc/add_dot", "products/thin.cc/add_four_dots", "products/thin.cc/add_four_rows",
	"products/thin.cc/add_row",
	"recurrent/lstm_units.cc/backward_code", "recurrent/lstm_units.cc/forward_code",
	"recurrent/qrnn.cc/backward_step", "recurrent/qrnn.cc/forward_step",
	"search/beam_topk.cc/block_maxima", "search/beam_topk.cc/log_sum_exp",
	"search/decoder_step.cc/add_norm_row", "search/decoder_step.cc/attend_32",
	"search/decoder_step.cc/attend_64", "search/decoder_step.cc/attend_any",
	"updates/optimizer.cc/squares_double", "updates/optimizer.cc/squares_float",
}

func TestKernelsAreKnown(t *testing.T) {
	if diff := cmp.Diff(kernels, slices.Sorted(maps.Keys(torch.KernelPaths()))); diff != "" {
		t.Errorf("the kernels (-known +there):\n%s", diff)
	}
}

// uncalled are the kernels that have not run with the set in use.
func uncalled() (names []string) {
	for name, path := range torch.KernelPaths() {
		if path != torch.ISA() && !strings.HasPrefix(name, "search/decoder_step.cc/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestISA: one switch for our kernels, libtorch's and those of the libraries that it
// calls, which read these variables.
func TestISA(t *testing.T) {
	libraries := []string{"ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA",
		"FBGEMM_ENABLE_INSTRUCTIONS"}
	switch wanted := os.Getenv("APERTURE_ISA"); wanted {
	case "avx2":
		if torch.ISA() != "avx2" || torch.LibtorchISA() != "AVX2" || torch.HasBFloat16() {
			t.Errorf("with avx2 it is %s, libtorch's is %s, and bfloat16 is %v", torch.ISA(), torch.LibtorchISA(),
				torch.HasBFloat16())
		}
		for _, name := range libraries {
			if got := os.Getenv(name); !strings.EqualFold(got, "avx2") {
				t.Errorf("%s is %q", name, got)
			}
		}
	case "avx512":
		if torch.ISA() != "avx512" || torch.LibtorchISA() != "AVX512" {
			t.Errorf("with avx512 it is %s, and libtorch's is %s", torch.ISA(), torch.LibtorchISA())
		}
		for _, name := range libraries {
			if got, set := os.LookupEnv(name); set {
				t.Errorf("%s is %q", name, got)
			}
		}
	}
	if err := torch.Refusal(torch.ISA(), true, torch.ISA() == "avx512"); err != nil {
		t.Error(err)
	}
}

// TestUnusableProcessors: what cannot be used is reported in a sentence before anything
// is computed, and a wrong wish from a processor that will not do.
func TestUnusableProcessors(t *testing.T) {
	for _, test := range []struct {
		wanted       string
		avx2, avx512 bool
		says         string // nothing where all is well
		wish         bool
	}{
		{"", true, true, "", false},
		{"", true, false, "", false},
		{"avx2", true, true, "", false},
		{"avx2", true, false, "", false},
		{"avx512", true, true, "", false},
		{"avx512", true, false, "APERTURE_ISA=avx512 asks for instructions that this processor does not have", true},
		{"AVX2", true, true, "APERTURE_ISA=AVX2 names no instruction set: use avx2 or avx512", true},
		{"sse", false, false, "APERTURE_ISA=sse names no instruction set", true},
		{"", false, false, "lacks AVX2 or FMA", false},
		{"avx2", false, false, "lacks AVX2 or FMA", false},
	} {
		err := torch.Refusal(test.wanted, test.avx2, test.avx512)
		if (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: %v", test, err)
		}
		var bad *torch.BadISA
		if errors.As(err, &bad) != test.wish {
			t.Errorf("%+v: %#v", test, err)
		}
	}
}
