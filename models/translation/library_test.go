package translation_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/decode"
)

// The program of docs/library.md compiles in a module of its own and does what the page says, without a data race. It
// needs the network no more than the tests do: the modules that it wants are those of this one.
func TestProgramOfTheGuide(t *testing.T) {
	folder, err := digits()
	if err != nil {
		t.Fatal(err)
	}
	program := buildProgram(t, 0)
	lines := []string{"Three and seven.", "One, two and nine.", "Four and eight.", "Zero, six, five and one.",
		"Nine and two."}
	var want []string
	for _, line := range translate(t, openDigits(t), lines, decode.Options{}) {
		want = append(want, line.Text)
	}

	command := exec.Command(program, folder)
	command.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\nTw\xff.\n")
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v\n%s", err, &stderr) // a race is reported there, and makes the exit code 66
	}
	got := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
	if last := len(got) - 1; !strings.HasPrefix(got[last], "line 6: it is no valid UTF-8") {
		t.Errorf("for a line that is no valid UTF-8 the program prints %q", got[last])
	} else if diff := cmp.Diff(want, got[:last]); diff != "" {
		t.Errorf("the program's translations and those of this process:\n%s", diff)
	}
}

// TestServerProgramOfTheGuide: many goroutines translate with one server that is loaded anew meanwhile, without a data
// race.
func TestServerProgramOfTheGuide(t *testing.T) {
	folder, err := digits()
	if err != nil {
		t.Fatal(err)
	}
	program := buildProgram(t, 1)
	source, _ := numbers(3, 200, 10)
	var want strings.Builder
	for _, x := range translate(t, openDigits(t), source, decode.Options{}) {
		want.WriteString(x.Text + "\n")
	}
	command := exec.Command(program, folder)
	command.Stdin = strings.NewReader(strings.Join(source, "\n"))
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v\n%s", err, &stderr) // a race is reported there, and makes the exit code 66
	}
	if diff := cmp.Diff(want.String(), stdout.String()); diff != "" {
		t.Errorf("the program's translations and those of this process:\n%s", diff)
	}
}

// buildProgram compiles a program of the guide, counted from 0, with the race detector, and returns the path of the
// binary.
func buildProgram(t *testing.T, which int) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	const fence = "```"
	programs := strings.Split(read("docs/library.md"), fence+"go\npackage main\n")[1:]
	if which >= len(programs) {
		t.Fatalf("docs/library.md has %d go blocks that begin with package main", len(programs))
	}
	code, _, closed := strings.Cut(programs[which], fence)
	if !closed {
		t.Fatal("docs/library.md has a go block without an end")
	}
	_, requirements, _ := strings.Cut(read("go.mod"), "\n") // below the line that names the module
	module := t.TempDir()
	for name, text := range map[string]string{
		"main.go": "package main\n" + code,
		"go.sum":  read("go.sum"),
		"go.mod": "module example.com/translate\n" + requirements +
			"\nrequire github.com/aperture-ml/aperture v0.0.0\n\nreplace github.com/aperture-ml/aperture => " + strconv.Quote(root) + "\n",
	} {
		if err := os.WriteFile(filepath.Join(module, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(module, "translate")
	build := exec.Command("go", "build", "-race", "-o", program, ".")
	build.Dir = module
	build.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build -race: %v\n%s", err, out)
	}
	return program
}
