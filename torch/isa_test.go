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
// those of decoder_step.cc by TestDecoderInThreads of package models.
var kernels = []string{
	"attentional.cc/mask_columns", "attentional.cc/tanh_columns", "attentional.cc/tanh_columns_back",
	"attentional_step.cc/add_and_tanh",
	"beam_topk.cc/block_maxima", "beam_topk.cc/log_sum_exp",
	"continuous_loss.cc/combine_double", "continuous_loss.cc/combine_float",
	"continuous_loss.cc/products_double", "continuous_loss.cc/products_float",
	"cosine_penalty.cc/add_scaled", "cosine_penalty.cc/combine", "cosine_penalty.cc/dot", "cosine_penalty.cc/dot_double",
	"decoder_step.cc/add_norm_row", "decoder_step.cc/attend_32", "decoder_step.cc/attend_64", "decoder_step.cc/attend_any",
	"int8_linear.cc/from_unit_row", "int8_linear.cc/to_unit_row",
	"lstm_units.cc/backward_code", "lstm_units.cc/forward_code",
	"mixture_row.cc/add_exponentials_float", "mixture_row.cc/differentiate_float", "mixture_row.cc/log_mixture_float",
	"mixture_row.cc/responsibilities_float",
	"panels.cc/four_vectors", "panels.cc/two_vectors",
	"qrnn.cc/backward_step", "qrnn.cc/forward_step",
	"random.cc/dropout_float", "random.cc/noise_float",
	"residual_norm.cc/backward_rows", "residual_norm.cc/forward_rows",
	"softmax_row.cc/exponentials_float", "softmax_row.cc/scale_and_lower_float",
	"step_panels.cc/pack_columns", "step_panels.cc/pack_gates",
	"thin.cc/add_dot", "thin.cc/add_four_dots", "thin.cc/add_four_rows", "thin.cc/add_row",
	"word_attention.cc/softmax_words", "word_attention.cc/softmax_words_back",
}

func TestKernelsAreKnown(t *testing.T) {
	if diff := cmp.Diff(kernels, slices.Sorted(maps.Keys(torch.KernelPaths()))); diff != "" {
		t.Errorf("the kernels (-known +there):\n%s", diff)
	}
}

// uncalled are the kernels that have not run with the set in use.
func uncalled() (names []string) {
	for name, path := range torch.KernelPaths() {
		if path != torch.ISA() && !strings.HasPrefix(name, "decoder_step.cc/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestISA: one switch for our kernels, libtorch's and those of the libraries that it
// calls, which read these variables.
func TestISA(t *testing.T) {
	libraries := []string{"ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "FBGEMM_ENABLE_INSTRUCTIONS"}
	switch wanted := os.Getenv("APERTURE_ISA"); wanted {
	case "avx2":
		if torch.ISA() != "avx2" || torch.LibtorchISA() != "AVX2" || torch.HasBFloat16() {
			t.Errorf("with avx2 it is %s, libtorch's is %s, and bfloat16 is %v", torch.ISA(), torch.LibtorchISA(), torch.HasBFloat16())
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
