package experiment

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/aperture-ml/aperture/runs/internal/record"
)

// NewEnv describes this process, with versions of libraries and the device in use.
func NewEnv(versions map[string]string, device string, threads int) record.Env {
	all := map[string]string{"go": runtime.Version(), "aperture": "(devel)"}
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
		all["aperture"] = build.Main.Version
	}
	maps.Copy(all, versions)
	host, _ := os.Hostname()
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	code, changed := codeVersion()
	return record.Env{
		Versions: all,
		OS:       strings.TrimSpace(runtime.GOOS + " " + runtime.GOARCH + " " + string(kernel)),
		Host:     host,
		CPU:      CPUModel(),
		CPUs:     runtime.GOMAXPROCS(0),
		Device:   device,
		Threads:  threads,
		Started:  time.Now().UTC().Format(time.RFC3339),
		Code:     code,
		Changed:  changed,
	}
}

// built is set by build.sh: the commit, a colon, and the tracked files with changes that are in no commit, joined by
// commas. The Go tool's own stamp counts files that git does not track as changes too, and names none.
var built string

// codeVersion returns the commit this program was built from, and the files that differ: as build.sh or the Go tool
// stamped it, or, under go run, which stamps nothing, as git sees the source tree. It is undefined where none knows.
func codeVersion() (code record.Code, changed []string) {
	if commit, files, found := strings.Cut(built, ":"); found {
		return codeOf(commit, files, ",")
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		if code := stampedCode(build.Settings); code.Commit != "" {
			return code, nil
		}
	}
	_, source, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(source) {
		return record.Code{}, nil
	}
	return gitCode(filepath.Dir(source))
}

// codeOf is a commit with the files that differ from it.
func codeOf(commit, files, separator string) (record.Code, []string) {
	changed := strings.FieldsFunc(files, func(r rune) bool { return string(r) == separator })
	dirty := len(changed) > 0
	return record.Code{Commit: record.Text(commit), Dirty: &dirty}, changed
}

func stampedCode(settings []debug.BuildSetting) (code record.Code) {
	for _, setting := range settings {
		switch setting.Key {
		case "vcs.revision":
			code.Commit = record.Text(setting.Value)
		case "vcs.modified":
			dirty := setting.Value == "true"
			code.Dirty = &dirty
		}
	}
	return code
}

// gitCode asks git about the source tree around folder.
func gitCode(folder string) (code record.Code, changed []string) {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", folder}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "HEAD")
	if err != nil {
		return record.Code{}, nil
	}
	names, err := git("diff", "--name-only", "HEAD")
	if err != nil {
		return record.Code{Commit: record.Text(commit)}, nil
	}
	return codeOf(commit, names, "\n")
}

// PeakRSS returns the most memory that this process has held at once, in bytes.
func PeakRSS() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return usage.Maxrss * 1024
}

// CPUModel is the processor's name.
func CPUModel() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.SplitSeq(string(data), "\n") {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
