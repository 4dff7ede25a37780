package experiment

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// NewEnv describes this process. versions adds what only the caller knows, such as libtorch's; device is the one in use,
// in words.
func NewEnv(versions map[string]string, device string, threads int) Env {
	all := map[string]string{"go": runtime.Version(), "aperture": "(devel)"}
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
		all["aperture"] = build.Main.Version
	}
	maps.Copy(all, versions)
	host, _ := os.Hostname()
	code, changed := codeVersion()
	return Env{
		Versions: all,
		OS:       strings.TrimSpace(runtime.GOOS + " " + runtime.GOARCH + " " + firstLine("/proc/sys/kernel/osrelease")),
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

// built is set by build.sh: the commit, a colon, and the tracked files with changes that are in no commit, joined by commas. The
// Go tool's own stamp counts files that git does not track as changes too, and names none.
var built string

// codeVersion returns the commit this program was built from, and the files that it has otherwise: as build.sh or the Go tool
// stamped it, or, under go run, which stamps nothing, as git sees the source tree. It is undefined where none knows.
func codeVersion() (code Code, changed []string) {
	if commit, files, found := strings.Cut(built, ":"); found {
		changed = strings.FieldsFunc(files, func(r rune) bool { return r == ',' })
		dirty := len(changed) > 0
		return Code{Commit: Text(commit), Dirty: &dirty}, changed
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		if code := stampedCode(build.Settings); code.Commit != "" {
			return code, nil
		}
	}
	_, source, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(source) {
		return Code{}, nil
	}
	return gitCode(filepath.Dir(source))
}

func stampedCode(settings []debug.BuildSetting) Code {
	var code Code
	for _, setting := range settings {
		switch setting.Key {
		case "vcs.revision":
			code.Commit = Text(setting.Value)
		case "vcs.modified":
			dirty := setting.Value == "true"
			code.Dirty = &dirty
		}
	}
	return code
}

// gitCode asks git for the commit that is checked out around folder, and for the tracked files that differ from it.
func gitCode(folder string) (code Code, changed []string) {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", folder}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "HEAD")
	if err != nil {
		return Code{}, nil
	}
	code.Commit = Text(commit)
	if names, err := git("diff", "--name-only", "HEAD"); err == nil {
		changed = strings.FieldsFunc(names, func(r rune) bool { return r == '\n' })
		dirty := len(changed) > 0
		code.Dirty = &dirty
	}
	return code, changed
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

func firstLine(path string) string {
	data, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}

// readSums returns what an earlier process recorded of the texts and of other files; nil where it recorded nothing.
func readSums(path string) (texts, files map[string]string) {
	var env Env
	if data, err := os.ReadFile(path); err != nil || json.Unmarshal(data, &env) != nil {
		return nil, nil
	}
	return env.DataSHA256, env.Files
}
