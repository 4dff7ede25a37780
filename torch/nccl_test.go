package torch

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// A process with libtorch's CUDA side makes a group of NCCL. Where there is a GPU it sums on it; where there is none, NCCL's own
// words become a sentence. The test starts itself, so that no other sees CUDA.
func TestNCCL(t *testing.T) {
	if os.Getenv(memberOf) == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestNCCL$", "-test.v")
		c.Env = append(os.Environ(), memberOf+"=nccl")
		out, err := c.CombinedOutput()
		if _, why, found := strings.Cut(string(out), "skipped: "); found {
			t.Skip(strings.TrimSpace(strings.SplitN(why, "\n", 2)[0]))
		}
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	Test(t, func() {
		if reason := loadCUDA(cudaFolders()); !strings.HasPrefix(reason, found) {
			t.Skip("skipped: " + reason)
		}
		store, err := OpenStore("127.0.0.1", 0, true, "test/", 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		g, err := JoinGroup(store, 0, 1, "127.0.0.1", 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Leave()
		err = g.UseDevice("cuda:0")
		if _, there := FindDevice("cuda:0"); there != nil {
			want := "NCCL cannot join the processes' GPUs: ProcessGroupNCCL is only supported with GPUs, no GPUs found!; train.device = \"cpu\" does without them"
			if err == nil || err.Error() != want {
				t.Fatalf("without a GPU it says %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		w := Full(2, Float32, "cuda:0", 3).Clone()
		w.SetRequiresGrad(true)
		b := g.NewBuckets([]Tensor{w})
		defer b.Free()
		b.Arm()
		w.Square().Sum().Backward()
		if err := b.Finish(); err != nil || !slices.Equal(w.Grad().Float32s(), []float32{4, 4, 4}) {
			t.Errorf("the gradient is %v (%v)", w.Grad().Float32s(), err)
		}
	})
}
