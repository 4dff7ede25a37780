// Package thirdparty_test tests fetch.py against an index of packages that a test makes.
package thirdparty_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// wheels are small packages with the names of the members that fetch.py takes, and some that it leaves.
var wheels = map[string]map[string]string{
	"torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl": {
		"torch/include/ATen/ATen.h":       "// headers\n",
		"torch/include/empty.h":           "",
		"torch/lib/libc10.so":             strings.Repeat("c10 ", 3000),
		"torch/lib/libgomp.so.1":          "gomp",
		"torch/lib/libtorch_cpu.so":       strings.Repeat("cpu and more ", 300000),
		"torch/lib/libtorch_cuda.so":      noise(3 << 20), // larger than what is read over
		"torch-2.11.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n",
		"torch-2.11.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-manylinux_2_28_x86_64\n",
		"torch-2.11.0.dist-info/LICENSE":  "terms\n",
	},
	"nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.whl": {
		"nvidia/cu13/lib/libcudart.so.13":                   "cudart",
		"nvidia/cu13/lib/libcupti.so.13":                    "cupti",
		"nvidia_cuda_runtime-13.0.96.dist-info/METADATA":    "Metadata-Version: 2.1\nName: nvidia-cuda-runtime\nVersion: 13.0.96\n",
		"nvidia_cuda_runtime-13.0.96.dist-info/WHEEL":       "Wheel-Version: 1.0\nTag: py3-none-manylinux2014_x86_64\n",
		"nvidia_cuda_runtime-13.0.96.dist-info/License.txt": "other terms\n",
	},
}

func noise(n int) string {
	b := make([]byte, n)
	state := uint64(1)
	for i := range b {
		state = state*6364136223846793005 + 1442695040888963407
		b[i] = byte(state >> 56)
	}
	return string(b)
}

// pack makes a wheel, and returns it with its RECORD.
func pack(t *testing.T, members map[string]string) (wheel []byte, record string) {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	add := func(name, text string) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	info := ""
	for _, name := range slices.Sorted(maps.Keys(members)) {
		add(name, members[name])
		digest := sha256.Sum256([]byte(members[name]))
		record += fmt.Sprintf("%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(digest[:]), len(members[name]))
		if folder, found := strings.CutSuffix(name, "/WHEEL"); found {
			info = folder
		}
	}
	record += info + "/RECORD,,\n"
	add(info+"/RECORD", record)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), record
}

// TestFetch: with ranges fetch.py takes what it needs and no more; without them, where a connection gives other bytes
// than the pinned ones, or where RECORD is another, it has pip download the whole; and what is not the pinned file it
// refuses.
func TestFetch(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-m", "pip", "--version").Run() != nil {
		t.Skip("python3 with pip is not there")
	}
	for name, c := range map[string]struct {
		ranges, breaks     bool
		damage, says       string // what is damaged, what is said
		refused, mostBytes bool
	}{
		"ranges":            {ranges: true, says: "downloaded 0 MB of libtorch", mostBytes: true},
		"broken connection": {ranges: true, breaks: true, says: "downloaded 0 MB of libtorch", mostBytes: true},
		"no ranges":         {says: "downloading whole packages: the index gives no parts of files (status 200)"},
		"another RECORD":    {ranges: true, damage: "record", says: "RECORD of nvidia-cuda-runtime is not the one that is pinned"},
		"another file":      {ranges: true, damage: "file", says: "pip could not download libtorch", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, page, pins := map[string][]byte{}, map[string]string{}, ""
			for _, file := range slices.Sorted(maps.Keys(wheels)) {
				wheel, record := pack(t, wheels[file])
				package_, version, _ := strings.Cut(file, "-")
				version, _, _ = strings.Cut(version, "-")
				package_ = strings.ReplaceAll(package_, "_", "-")
				digest := sha256.Sum256(wheel)
				if c.damage == "record" {
					record += "\n"
				}
				pins += fmt.Sprintf("# RECORD of %s: sha256:%x\n%s==%s --hash=sha256:%x\n", package_,
					sha256.Sum256([]byte(record)), package_, version, digest)
				page[package_] = fmt.Sprintf(`<a href="/files/%s#sha256=%x">%s</a>`, file, digest, file)
				if c.damage == "file" {
					wheel = bytes.Replace(wheel, []byte("libgomp"), []byte("libgimp"), -1)
				}
				files[file] = wheel
			}
			var sent, answers atomic.Int64
			index := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
				counted := &counter{ResponseWriter: w, sent: &sent}
				switch {
				case len(parts) == 2 && parts[0] == "simple" && page[parts[1]] != "":
					w.Header().Set("Content-Type", "text/html")
					fmt.Fprintf(w, "<!DOCTYPE html><html><body>%s</body></html>", page[parts[1]])
				case len(parts) == 2 && parts[0] == "files" && files[parts[1]] != nil:
					if !c.ranges {
						r.Header.Del("Range")
					}
					counted.breaks = c.breaks && strings.HasPrefix(parts[1], "torch") && answers.Add(1) == 3
					http.ServeContent(counted, r, "", time.Time{}, bytes.NewReader(files[parts[1]]))
				default:
					http.NotFound(w, r)
				}
			}))
			defer index.Close()
			folder := t.TempDir()
			for _, script := range []string{"fetch.py", "ranges.py"} {
				text, err := os.ReadFile(script)
				if err == nil {
					err = os.WriteFile(filepath.Join(folder, script), text, 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(folder, "requirements.txt"), []byte(pins), 0o644); err != nil {
				t.Fatal(err)
			}
			target := filepath.Join(folder, "cache", "libtorch")
			fetch := exec.Command(python, "-B", filepath.Join(folder, "fetch.py"), target)
			fetch.Env = append(os.Environ(), "PIP_INDEX_URL="+index.URL+"/simple", "PIP_EXTRA_INDEX_URL=", "PIP_FIND_LINKS=",
				"PIP_RETRIES=0", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1", "PIP_CONFIG_FILE="+os.DevNull)
			out, err := fetch.CombinedOutput()
			if (err != nil) != c.refused || !strings.Contains(string(out), c.says) {
				t.Fatalf("%v:\n%s", err, out)
			}
			if whole := strings.Contains(string(out), "downloading whole packages"); c.mostBytes && whole {
				t.Errorf("whole packages were asked for:\n%s", out)
			}
			if c.breaks && answers.Load() < 4 {
				t.Errorf("after %d answers no connection had broken and been taken up again", answers.Load())
			}
			if left, _ := os.ReadDir(filepath.Dir(target)); c.refused {
				if len(left) > 0 {
					t.Errorf("%v is left", left)
				}
				return
			} else if len(left) != 1 {
				t.Errorf("%v is left, want %s alone", left, target)
			}
			want := map[string]string{"include/ATen/ATen.h": "// headers\n", "include/empty.h": "", "lib/libgomp.so.1": "gomp",
				"lib/libc10.so":       wheels["torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl"]["torch/lib/libc10.so"],
				"lib/libtorch_cpu.so": wheels["torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl"]["torch/lib/libtorch_cpu.so"],
				"lib/libcudart.so.13": "cudart", "lib/libcupti.so.13": "cupti", "licenses/torch-LICENSE": "terms\n",
				"licenses/nvidia_cuda_runtime-License.txt": "other terms\n"}
			for path, text := range want {
				if got, err := os.ReadFile(filepath.Join(target, path)); err != nil || string(got) != text {
					t.Errorf("%s has %d bytes, want %d: %v", path, len(got), len(text), err)
				}
			}
			if libraries, _ := filepath.Glob(filepath.Join(target, "lib", "*")); len(libraries) != 5 {
				t.Errorf("libraries %v, want five", libraries)
			}
			check := exec.Command("sha256sum", "--quiet", "--check", "SHA256SUMS")
			check.Dir = target
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			if n := sent.Load(); c.mostBytes && n > 2<<20 {
				t.Errorf("%d bytes were sent", n)
			}
		})
	}
}

// counter counts what is sent, and may break a connection in the middle of an answer.
type counter struct {
	http.ResponseWriter
	sent   *atomic.Int64
	breaks bool
}

func (c *counter) Write(p []byte) (int, error) {
	if c.breaks {
		c.ResponseWriter.Write(p[:len(p)/2])
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	n, err := c.ResponseWriter.Write(p)
	c.sent.Add(int64(n))
	return n, err
}
