package torch

// #include "api.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unsafe"
)

// Device names where tensors live: "cpu", "cuda" or "cuda:N".
type Device string

// CPU is the host.
const CPU Device = "cpu"

func (d Device) name() string {
	if d == "" {
		return string(CPU)
	}
	return string(d)
}

// IsCUDA reports whether d is a CUDA device.
func (d Device) IsCUDA() bool { return strings.HasPrefix(string(d), "cuda") }

// FindDevice resolves "cpu", "cuda", "cuda:N" or "auto" (CUDA where there is one), and turns TF32 off where it finds
// one (AllowTF32). It must come before the first tensor: libtorch asks for CUDA once. The name of an accelerator that a
// loaded library has registered with libtorch, as "NAME:N", is known too.
func FindDevice(name string) (Device, error) {
	if name == "" || name == string(CPU) {
		return CPU, nil
	}
	if registeredDevice(name) {
		return Device(name), nil
	}
	if name != "auto" && name != "cuda" && !strings.HasPrefix(name, "cuda:") {
		return "", fmt.Errorf("unknown device %q: use cpu, cuda, cuda:N or auto", name)
	}
	count, reason := cudaDevices()
	if count > 0 {
		AllowTF32("cuda", false) // which cuDNN's recurrent layers would use
	}
	if name == "auto" {
		if count > 0 {
			return "cuda:0", nil
		}
		return CPU, nil
	}
	index := 0
	if _, number, found := strings.Cut(name, ":"); found {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			return "", fmt.Errorf("unknown device %q: use cpu, cuda, cuda:N or auto", name)
		}
		index = n
	}
	if index >= count {
		return "", fmt.Errorf("device %s is not there: %d CUDA devices were found (%s); name another, or cpu; each process "+
			"of a machine takes one of its own", name, count, reason)
	}
	return Device(fmt.Sprintf("cuda:%d", index)), nil
}

func registeredDevice(name string) (known bool) {
	withDevice(Device(name), func(device *C.char) { known = bool(C.ap_registered_device(device)) })
	return known
}

// UnusedGPU says why auto has not chosen a GPU where the machine has a driver for
// one, and what to run; it is empty where there is nothing to say.
func UnusedGPU() string {
	_, err := os.Stat("/proc/driver/nvidia/version")
	count, reason := cudaDevices()
	return unusedGPU(err == nil, count, reason)
}

func unusedGPU(driver bool, count int, reason string) string {
	switch {
	case !driver || count > 0:
		return ""
	case strings.HasPrefix(reason, found):
		return "the GPU is not used: libtorch has CUDA (" + reason +
			") and finds no device that it can use; nvidia-smi says what the driver sees"
	}
	return "the GPU is not used: this libtorch has no CUDA (" + reason + "); APERTURE_CUDA=1 ./build.sh fetches it"
}

// found begins the reason of a CUDA side that was loaded.
const found = "by libtorch_cuda.so in "

// AllowTF32 lets a CUDA device round the operands of float32 products and recurrent
// layers to TF32, which has 10 bits of fraction; after FindDevice it does not.
func AllowTF32(d Device, value bool) {
	if d.IsCUDA() {
		check("AllowTF32", C.ap_allow_tf32(C.bool(value)))
	}
}

// cudaDevices loads libtorch's CUDA side where it is found, counts the devices and says what it went by.
// Where no driver is, it leaves the library alone, which with what it links takes 0.15 s and 250 MB.
func cudaDevices() (count int, reason string) {
	if !hasDriver() {
		return 0, "this machine has no driver for NVIDIA's GPUs"
	}
	reason = loadCUDA(cudaFolders())
	return int(C.ap_cuda_devices()), reason
}

// hasDriver looks for the device by which CUDA reaches the driver: NVIDIA's own, or that of Windows' Linux subsystem.
// NVIDIA's is made by the first program that uses CUDA after a start of the machine, if no service has made it before:
// until then the loaded driver shows in /proc.
func hasDriver() bool {
	for _, path := range []string{"/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

// loadCUDA loads libtorch's CUDA side from the first of these folders where that
// works, and says which it was or what is wrong.
func loadCUDA(folders []string) (reason string) {
	reason = "libtorch_cuda.so is neither in $LIBTORCH/lib nor beside libtorch_cpu.so"
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, "libtorch_cuda.so")); err != nil {
			continue
		}
		name := C.CString(folder)
		err := Try(func() error { check("FindDevice", C.ap_cuda_load(name)); return nil })
		C.free(unsafe.Pointer(name))
		if err == nil {
			return found + folder
		}
		reason = err.Error()
	}
	return reason
}

// cudaFolders are where libtorch_cuda.so may lie; nothing is looked for in the working directory.
func cudaFolders() []string {
	var folders []string
	if libtorch := os.Getenv("LIBTORCH"); libtorch != "" {
		folders = append(folders, filepath.Join(libtorch, "lib"))
	}
	if beside := folderOf("libtorch_cpu.so"); beside != "" {
		folders = append(folders, beside)
	}
	return folders
}

// folderOf is where this process has a library from, and empty where it has none of that name.
func folderOf(library string) string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(maps), "\n") {
		if i := strings.IndexByte(line, '/'); i >= 0 && strings.HasSuffix(line, "/"+library) {
			return filepath.Dir(line[i:])
		}
	}
	return ""
}

// gotorch's own init asks for half of the CPUs.
func init() { C.ap_set_threads(C.int(runtime.GOMAXPROCS(0))) }

// SetThreads sets the number of threads of one operator, which at first and for
// n = 0 is GOMAXPROCS: one for each CPU that this process may use, by its affinity
// and its control group's quota.
func SetThreads(n int) {
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	// The torch thread has a pool of its own.
	Do(func() { check("SetThreads", C.ap_set_threads(C.int(n))) })
}

// Threads is the number of threads of one operator.
func Threads() (n int) {
	Do(func() { n = int(C.ap_threads()) })
	return n
}

// Version is libtorch's version.
func Version() string { return C.GoString(C.ap_version()) }

// Synchronize waits until a device has finished what was asked of it.
func Synchronize(d Device) {
	withDevice(d, func(device *C.char) { check("Synchronize", C.ap_synchronize(device)) })
}

// PeakDeviceBytes is the most memory that tensors have held on a device, 0 for one that is not there.
func PeakDeviceBytes(d Device) (n int64) {
	if d.name() == string(CPU) {
		return PeakBytes()
	}
	withDevice(d, func(device *C.char) { n = int64(C.ap_device_peak_bytes(device)) })
	return n
}

// ResetPeakDeviceBytes starts PeakDeviceBytes anew from what is held now.
func ResetPeakDeviceBytes(d Device) {
	if d.name() == string(CPU) {
		ResetPeakBytes()
		return
	}
	withDevice(d, func(device *C.char) { C.ap_device_reset_peak_bytes(device) })
}

// DeviceName is what the driver calls a CUDA device, as "NVIDIA H100 80GB HBM3"; empty for others.
func DeviceName(d Device) (name string) {
	if !d.IsCUDA() {
		return ""
	}
	withDevice(d, func(device *C.char) {
		var text [256]C.char
		if C.ap_cuda_name(device, &text[0], C.int(len(text))) {
			name = C.GoString(&text[0])
		}
	})
	return name
}

// LiveDeviceBytes is what tensors hold there now.
func LiveDeviceBytes(d Device) (n int64) {
	if d.name() == string(CPU) {
		return LiveBytes()
	}
	withDevice(d, func(device *C.char) { n = int64(C.ap_device_live_bytes(device)) })
	return n
}

// CSRCDigest is the digest of the C++ sources that the loaded library was built from.
func CSRCDigest() string { return C.GoString(C.ap_csrc_digest()) }

// AvailableMemory is how many bytes programs can still take without swapping, as the kernel estimates it.
func AvailableMemory() (bytes float64, err error) {
	const path = "/proc/meminfo"
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(data), "MemAvailable:")
	if _, err := fmt.Sscanf(after, "%f kB", &bytes); err != nil {
		return 0, fmt.Errorf("%s does not say how much memory is available", path)
	}
	return bytes * 1024, nil
}
