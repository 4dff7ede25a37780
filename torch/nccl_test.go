package torch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// groupOfOne is a group whose only member is this process, and what leaves it.
func groupOfOne(t *testing.T) (g *Group, leave func()) {
	t.Helper()
	store, err := OpenStore("127.0.0.1", 0, true, "test/", 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	g, err = JoinGroup(store, 0, 1, "127.0.0.1", 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return g, func() {
		g.Leave()
		store.Close()
	}
}

// Where build.sh has made no libaperture_cuda.so, sums go by the CPU's memory. A library that cannot be opened is
// named, and so is the function that a library lacks.
func TestNCCLLibrary(t *testing.T) {
	broken := filepath.Join(t.TempDir(), ncclLibrary)
	if err := os.WriteFile(broken, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(folderOf("libc10.so"), "libc10.so")
	Test(t, func() {
		g, leave := groupOfOne(t)
		defer leave()
		if err := g.useNCCL(filepath.Join(t.TempDir(), ncclLibrary)); err != nil {
			t.Errorf("without the library it says %v", err)
		}
		for path, says := range map[string]string{broken: broken + ": file too short", other: "ap_nccl_join"} {
			err := g.useNCCL(path)
			text := fmt.Sprint(err)
			if !strings.HasPrefix(text, "NCCL cannot join the processes' GPUs: ") || !strings.Contains(text, says) {
				t.Errorf("opened from %s it says %v", path, err)
			}
		}
		x := Full(1, Float32, "cpu", 2)
		if err := g.Sum(x); err != nil || !slices.Equal(x.Float32s(), []float32{1, 1}) {
			t.Errorf("afterwards the sum is %v (%v)", x.Float32s(), err)
		}
	})
}

// A process with libtorch's CUDA side makes a group of NCCL. Where there is a GPU it sums on it; where there is none,
// NCCL's own words become a sentence. The test starts itself, so that no other sees CUDA.
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
		if _, err := os.Stat(filepath.Join(folderOf("libaperture.so"), ncclLibrary)); err != nil {
			t.Skip("skipped: " + err.Error() + "; APERTURE_CUDA=1 ./build.sh makes it")
		}
		g, leave := groupOfOne(t)
		defer leave()
		err := g.UseDevice("cuda:0")
		if _, there := FindDevice("cuda:0"); there != nil {
			want := "NCCL cannot join the processes' GPUs: ProcessGroupNCCL is only supported with GPUs, no GPUs " +
				"found!; train.device = \"cpu\" does without them"
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
