package checked

// #cgo LDFLAGS: -ldl
// #include <dlfcn.h>
// #include <stdint.h>
// #include <stdlib.h>
// static void* function(void* library, const char* name) { return dlsym(library, name); }
// static const char* call_text(void* f) { return ((const char* (*)(void))f)(); }
// static void call(void* f) { ((void (*)(void))f)(); }
// static void call_counts(void* f, int64_t* three) { ((void (*)(int64_t*))f)(three); }
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/torch"
)

const device torch.Device = "checked:0"

// Counts is what the device did.
type Counts struct {
	Operators int64 // launched: neither views nor empty tensors nor copies between host and device
	Uploads   int64 // copies from the host
	Waits     int64 // of the host: copies to it, and operators whose result's size depends on values
	Names     string
}

var library struct {
	once    sync.Once
	missing string // why it is not there
	counts  unsafe.Pointer
	names   unsafe.Pointer
	reset   unsafe.Pointer
	touch   unsafe.Pointer
}

// Load loads the device where it was built, and says why not elsewhere. A process that will need it calls Load before
// its first backward pass, at which libtorch learns which devices there are.
func Load() (missing string) {
	library.once.Do(func() { library.missing = open() })
	return library.missing
}

// Device is the checked device; the test is skipped where it was not built.
func Device(t testing.TB) torch.Device {
	t.Helper()
	if why := Load(); why != "" {
		t.Skip(why)
	}
	return device
}

// FromEnvironment is the device that APERTURE_TEST_DEVICE names, the CPU without it. It panics where that is not there.
func FromEnvironment() torch.Device {
	name := os.Getenv("APERTURE_TEST_DEVICE")
	if name == string(device) {
		if why := Load(); why != "" {
			panic(why)
		}
	}
	d, err := torch.FindDevice(name)
	if err != nil {
		panic(err)
	}
	return d
}

// Counting counts what the device does while f runs.
func Counting(f func()) Counts {
	C.call(library.reset)
	f()
	var three [3]C.int64_t
	C.call_counts(library.counts, &three[0])
	names := C.call_text(library.names)
	defer C.free(unsafe.Pointer(names))
	return Counts{Operators: int64(three[0]), Uploads: int64(three[1]), Waits: int64(three[2]),
		Names: C.GoString(names)}
}

// Touch reads the device's memory from the host, which ends the process.
func Touch() { C.call(library.touch) }

func open() string {
	const advice = "run ./build.sh checked"
	name := C.CString(path())
	defer C.free(unsafe.Pointer(name))
	handle := C.dlopen(name, C.RTLD_NOW|C.RTLD_GLOBAL)
	if handle == nil {
		return fmt.Sprintf("the checked device is not there: %s (%s)", advice, C.GoString(C.dlerror()))
	}
	find := func(name string) unsafe.Pointer {
		text := C.CString(name)
		defer C.free(unsafe.Pointer(text))
		return C.function(handle, text)
	}
	digest, err := files.SumSources(os.DirFS(filepath.Join(folder(), "csrc")))
	if err != nil {
		return err.Error()
	}
	if built := C.GoString(C.call_text(find("checked_digest"))); built != digest {
		return "the checked device is older than its sources: " + advice
	}
	library.counts, library.names = find("checked_counts"), find("checked_names")
	library.reset, library.touch = find("checked_reset"), find("checked_touch")
	return ""
}

// folder is that of this file.
func folder() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

func path() string {
	return filepath.Join(folder(), "..", "..", "third_party", "lib", "obj", "libchecked.so")
}
