package torch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

func TestVersion(t *testing.T) {
	if v := torch.Version(); v != "2.11.0" {
		t.Errorf("libtorch is %s, the package is written for 2.11.0", v)
	}
}

func TestFindDevice(t *testing.T) {
	for _, name := range []string{"", "cpu"} {
		if d, err := torch.FindDevice(name); err != nil || d != torch.CPU || d.IsCUDA() {
			t.Errorf("%q is %q, %v", name, d, err)
		}
	}
	for _, name := range []string{"gpu", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:0:1", "cuda:1.5", "mps", " cpu"} {
		d, err := torch.FindDevice(name)
		if err == nil || d != "" || !strings.Contains(err.Error(), "cpu, cuda, cuda:N or auto") ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%q is %q, %v", name, d, err)
		}
	}
	auto, err := torch.FindDevice("auto")
	if err != nil {
		t.Fatal(err)
	}
	if first, err := torch.FindDevice("cuda"); auto.IsCUDA() {
		if err != nil || first != auto {
			t.Errorf("cuda is %q, %v, and auto is %q", first, err, auto)
		}
	} else if err == nil || !strings.Contains(err.Error(), "cuda is not there: 0 CUDA devices") {
		t.Errorf("cuda is %q, %v", first, err)
	}
	if _, err := torch.FindDevice("cuda:99"); err == nil || !strings.Contains(err.Error(), "cuda:99 is not there") {
		t.Errorf("cuda:99 gives %v", err)
	}
}

// TestBrokenCUDALibraryIsNamed: a CUDA side that is there and cannot be loaded is
// told from one that is not there.
func TestBrokenCUDALibraryIsNamed(t *testing.T) {
	folder := t.TempDir()
	lib := filepath.Join(folder, "lib")
	if err := os.Mkdir(lib, 0o755); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(lib, "libtorch_cuda.so")
	if err := os.WriteFile(library, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LIBTORCH", folder)
	if folders := torch.CUDAFolders(); len(folders) == 0 || folders[0] != lib {
		t.Errorf("it is looked for in %v, not first in %s", folders, lib)
	}
	if says := torch.LoadCUDA([]string{lib}); !strings.Contains(says, library) {
		t.Errorf("%q does not name %s", says, library)
	}
	if says := torch.LoadCUDA([]string{t.TempDir()}); !strings.Contains(says, "neither in $LIBTORCH/lib") {
		t.Errorf("of an empty folder it says %q", says)
	}
	t.Setenv("LIBTORCH", "")
	t.Chdir(lib)
	for _, folder := range torch.CUDAFolders() {
		if !filepath.IsAbs(folder) || folder == lib {
			t.Errorf("the library is looked for in %q, from the working directory", folder)
		}
	}
}

// TestUnusedGPU: a driver without libtorch's side of CUDA is named with the command that fetches it.
func TestUnusedGPU(t *testing.T) {
	none := "libtorch_cuda.so is neither in $LIBTORCH/lib nor beside libtorch_cpu.so"
	for _, c := range []struct {
		driver bool
		count  int
		reason string
		says   string
	}{
		{false, 0, none, ""},
		{true, 1, "by libtorch_cuda.so in /lib", ""},
		{true, 0, none, "APERTURE_CUDA=1 ./build.sh"},
		{true, 0, "by libtorch_cuda.so in /lib", "nvidia-smi"},
	} {
		if says := torch.UnusedGPUOf(c.driver, c.count, c.reason); (says == "") != (c.says == "") ||
			!strings.Contains(says, c.says) {
			t.Errorf("%+v: it says %q", c, says)
		}
	}
}

// buildFunction is the text of a function of build.sh.
func buildFunction(t *testing.T, name string) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("..", "build.sh"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(script), "\n"+name+"() {\n")
	body, _, ok := strings.Cut(rest, "\n}\n")
	if !ok {
		t.Fatal("build.sh has no " + name)
	}
	return name + "() {\n" + body + "\n}\n"
}

// TestPythonTorch: build.sh takes an installed Python torch of its version, but where a GPU's libraries are asked for
// none without them.
func TestPythonTorch(t *testing.T) {
	folder := t.TempDir()
	lib := filepath.Join(folder, "torch", "lib")
	if err := os.MkdirAll(lib, 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(folder, "torch", "__init__.py"), "")
	write(filepath.Join(folder, "torch", "version.py"), "__version__ = '1.2.3+cpu'\n")
	write(filepath.Join(lib, "libtorch_cpu.so"), "")
	t.Setenv("PYTHONPATH", folder)
	script := "set -euo pipefail\n" + buildFunction(t, "python_torch") +
		"torch_version=$1 APERTURE_CUDA=$2\npython_torch"
	for _, c := range []struct {
		version, cuda string
		found         bool
	}{{"1.2.3", "", true}, {"1.2.3", "0", true}, {"1.2.4", "", false}, {"1.2.3", "1", false}, {"1.2.3", "1", true}} {
		if c.cuda == "1" && c.found {
			write(filepath.Join(lib, "libtorch_cuda.so"), "")
		}
		says, err := exec.Command("bash", "-c", script, "build.sh", c.version, c.cuda).CombinedOutput()
		if got := strings.TrimSpace(string(says)); err != nil || (got == filepath.Join(folder, "torch")) != c.found ||
			!c.found && got != "" {
			t.Errorf("%+v: it says %q, %v", c, got, err)
		}
	}
}

// TestWantsCUDA: build.sh fetches what a GPU needs where there is a driver, unless APERTURE_CUDA says otherwise.
func TestWantsCUDA(t *testing.T) {
	wants := buildFunction(t, "wants_cuda")
	for _, c := range []struct {
		set    string
		driver string
		want   string
	}{{"", "true", "yes"}, {"", "false", "no"}, {"0", "true", "no"}, {"1", "false", "yes"},
		{"maybe", "true", "stopped"}} {
		says, err := exec.Command("bash", "-c",
			"set -euo pipefail\nAPERTURE_CUDA="+c.set+"\nhas_driver() { "+c.driver+"; }\nstop() { echo stopped; exit; "+
				"}\n"+wants+"if wants_cuda; then echo yes; else echo no; fi").CombinedOutput()
		if got := strings.TrimSpace(string(says)); err != nil || got != c.want {
			t.Errorf("with APERTURE_CUDA=%q and a driver %s: %q, %v, want %s", c.set, c.driver, got, err, c.want)
		}
	}
}

func TestThreads(t *testing.T) {
	defer torch.SetThreads(0)
	torch.SetThreads(3)
	if n := torch.Threads(); n != 3 {
		t.Errorf("3 threads were set from outside the torch thread, there are %d", n)
	}
	torch.Do(func() {
		for _, n := range []int{runtime.GOMAXPROCS(0), 1} { // as a control group's quota may set it
			before := runtime.GOMAXPROCS(n)
			torch.SetThreads(0)
			runtime.GOMAXPROCS(before)
			if got := torch.Threads(); got != n {
				t.Errorf("there are %d threads for GOMAXPROCS=%d", got, n)
			}
		}
		if text := failure(t, func() { torch.SetThreads(-1) }).Error(); !strings.Contains(text, "at least 1, not -1") {
			t.Errorf("the error is %q", text)
		}
	})
}

func TestDeviceOfTensors(t *testing.T) {
	torch.Test(t, func() {
		x := torch.Zeros(torch.Float32, "", 2)
		if x.Device() != torch.CPU {
			t.Errorf("the device is %q", x.Device())
		}
		torch.Synchronize(x.Device())
		for _, d := range []torch.Device{"gpu", "cuda:x", "cpu:"} {
			failure(t, func() { x.To(torch.Float32, d) })
		}
		if auto, _ := torch.FindDevice("auto"); !auto.IsCUDA() {
			failure(t, func() { x.To(torch.Float32, "cuda") })
			if n := torch.PeakDeviceBytes("cuda:0"); n != 0 {
				t.Errorf("without a device it held %d bytes", n)
			}
			if name := torch.DeviceName("cuda"); name != "" {
				t.Errorf("a device that is not there is called %q", name)
			}
		} else if torch.DeviceName(auto) == "" {
			t.Error("the driver has no name for the GPU")
		}
	})
}
