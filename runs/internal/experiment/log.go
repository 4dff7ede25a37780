package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// Logger writes lines to train.log and to the screen, and keeps a progress bar below them where the screen is a
// terminal. It may be used from several goroutines.
type Logger struct {
	mu       sync.Mutex
	file     io.WriteCloser
	screen   io.Writer
	terminal bool
	bar      *progressbar.ProgressBar
	barStart int64 // updates made by an earlier process
	quiet    bool  // the screen gets warnings alone
	err      error // of the first write to the file that failed
}

// NewLogger returns a logger to a file, which Close closes, and a screen. A bar is shown only on a terminal; a pipe
// without a reader ends the run as a closed terminal does (command.Screen).
func NewLogger(file io.WriteCloser, screen io.Writer) *Logger {
	device, ok := screen.(*os.File)
	l := &Logger{file: file, screen: screen, terminal: ok && term.IsTerminal(int(device.Fd()))}
	if !l.terminal {
		l.screen = command.Screen(screen)
	}
	return l
}

// Quiet keeps the bar, and all lines but warnings, from the screen.
func (l *Logger) Quiet() { l.quiet, l.terminal = true, false }

// Printf writes a line to the log, with the time, and to the screen.
func (l *Logger) Printf(format string, args ...any) {
	l.line(!l.quiet, fmt.Sprintf(format, args...))
}

// Warnf is Printf for what a user should look into.
func (l *Logger) Warnf(format string, args ...any) {
	l.line(true, "warning: "+fmt.Sprintf(format, args...))
}

// Progressf is Printf for lines that the bar makes needless on the screen.
func (l *Logger) Progressf(format string, args ...any) {
	l.line(!l.terminal && !l.quiet, fmt.Sprintf(format, args...))
}

// Fail logs the error that ends a run, with its stack; the screen gets it from Exit.
func (l *Logger) Fail(err error) {
	l.line(false, command.Message(err))
	var internal *command.InternalError
	if errors.As(err, &internal) && internal.Kept == "" {
		l.line(false, string(internal.Stack))
		if file, ok := l.file.(*os.File); ok && l.Err() == nil {
			internal.Kept = file.Name()
		}
	}
}

func (l *Logger) line(toScreen bool, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines { // a sample of a text, or a name in a file, may hold anything
		lines[i] = files.Shown(line)
	}
	text = strings.Join(lines, "\n")
	_, err := fmt.Fprintf(l.file, "%s %s\n", time.Now().Format(time.DateTime), text)
	l.err = cmp.Or(l.err, files.DiskFull(err))
	if !toScreen {
		return
	}
	if l.bar != nil {
		l.bar.Clear() // a bar that cannot be drawn stops no training
	}
	fmt.Fprintln(l.screen, text)
}

// StartBar shows a bar over total updates (0: not known) on a terminal, of which done are behind.
func (l *Logger) StartBar(total, done int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.terminal {
		return
	}
	length := total - done
	if length <= 0 {
		length = -1
	}
	l.barStart = done
	l.bar = progressbar.NewOptions64(length,
		progressbar.OptionSetWriter(l.screen),
		progressbar.OptionSetWidth(24),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("updates"),
		progressbar.OptionSetPredictTime(false), // Bar shows the time left, as the log has it
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetTheme(progressbar.Theme{
			Saucer: "=", SaucerHead: ">", SaucerPadding: " ", BarStart: "[", BarEnd: "]",
		}),
	)
}

// Bar moves the bar to step, with the loss, the speed (target tokens a second) and the time left, in words.
func (l *Logger) Bar(step int64, loss, tokensPerSecond float64, left string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bar == nil {
		return
	}
	l.bar.Describe(fmt.Sprintf("step %d  loss %.3f  %.0f tokens/s  %s", step, loss, tokensPerSecond, left))
	l.bar.Set64(step - l.barStart)
}

func (l *Logger) StopBar() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bar != nil {
		l.bar.Clear()
		l.bar = nil
	}
}

// Err is the first error of writing the log.
func (l *Logger) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close takes the bar away and closes the log.
func (l *Logger) Close() error {
	l.StopBar()
	return errors.Join(l.Err(), l.file.Close())
}
