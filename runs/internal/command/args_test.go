package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestNormalizeArgs(t *testing.T) {
	flags := func() *pflag.FlagSet {
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		fs.String("method", "", "")
		fs.Float64("lenpen", 1, "")
		fs.StringArray("set", nil, "")
		fs.Bool("resume", false, "")
		fs.String("n", "", "a long name of one letter")
		fs.StringP("language", "l", "", "")
		fs.BoolP("help", "h", false, "")
		fs.BoolP("verbose", "v", false, "")
		return fs
	}
	for _, test := range []struct{ args, want string }{
		{"", ""},
		{"-method=x", "--method=x"},
		{"-method x", "--method x"},
		{"--method=x --method x", "--method=x --method x"},
		{"-method -resume", "--method -resume"}, // a flag's value, whatever it looks like
		{"-resume -method=x", "--resume --method=x"},
		{"-resume=false", "--resume=false"},
		{"-set a.b=1 -set=c.d=2", "--set a.b=1 --set=c.d=2"},
		{"-lenpen -1", "--lenpen -1"},
		{"-lenpen=-1 file", "--lenpen=-1 file"},
		{"-1 -.5 -1e-3 -0", "-1 -.5 -1e-3 -0"},
		{"- -method x -", "- --method x -"},
		{"-resume -- -method -x", "--resume -- -method -x"},
		{"-method -- -method x", "--method -- --method x"},
		{"-n 5 -n=5", "--n 5 --n=5"},
		{"-l de -l=de -lde", "-l de -l=de -lde"},
		{"-l -method -method x", "-l -method --method x"},
		{"-vl -method -resume", "-vl -method --resume"},
		{"-vh -resume", "-vh --resume"},
		{"-h", "-h"},
		{"-help", "--help"},
		{"-hv", "-hv"},
		{"-q", "-q"},
		{"-metod=x", "--metod=x"},
		{"-=x", "-=x"},
		{"corpus -method x de", "corpus --method x de"},
	} {
		args := strings.Fields(test.args)
		before := append([]string{}, args...)
		if diff := cmp.Diff(strings.Fields(test.want), NormalizeArgs(args, flags())); diff != "" {
			t.Errorf("NormalizeArgs(%q) (-want +got):\n%s", test.args, diff)
		}
		if diff := cmp.Diff(before, args); diff != "" {
			t.Errorf("NormalizeArgs(%q) changed its argument:\n%s", test.args, diff)
		}
	}
}

// What NormalizeArgs returns must also mean to pflag what it says.
func TestNormalizedArgsParse(t *testing.T) {
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	method := fs.String("method", "", "")
	language := fs.StringP("language", "l", "", "")
	lenpen := fs.Float64("lenpen", 1, "")
	set := fs.StringArray("set", nil, "")
	args := []string{"-method=spectrum", "-l", "de", "-lenpen", "-2", "-set", "a.b=1,2", "-set=c.d=3", "x", "--",
		"-method"}
	if err := fs.Parse(NormalizeArgs(args, fs)); err != nil {
		t.Fatal(err)
	}
	if *method != "spectrum" || *language != "de" || *lenpen != -2 {
		t.Errorf("parsed method %q, language %q, lenpen %v", *method, *language, *lenpen)
	}
	if diff := cmp.Diff([]string{"a.b=1,2", "c.d=3"}, *set); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"x", "-method"}, fs.Args()); diff != "" {
		t.Error(diff)
	}
}
