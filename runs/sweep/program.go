package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// findProgram gives the program that trains. One of a folder under runs/ is kept in the sweep's folder, so that all
// runs are of the same code whatever becomes of the source meanwhile.
func findProgram(name, folder string, log io.Writer) (string, error) {
	if strings.Contains(name, "/") {
		path, err := filepath.Abs(name)
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("command = %q: %w", name, errors.Unwrap(err))
		}
		return path, nil
	}
	kept := filepath.Join(folder, "bin", name)
	// As long as the folder holds no sweep, the program is of a start that failed, and the source may be newer.
	if files.Exists(kept) && files.Exists(filepath.Join(folder, searchFile)) {
		return filepath.Abs(kept)
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o777); err != nil {
		return "", files.DiskFull(err)
	}
	fmt.Fprintf(log, "building runs/%s\n", name)
	path, err := command.Build(name, filepath.Dir(kept))
	if err != nil {
		return "", fmt.Errorf("command = %q: %w; a built program is named by its path", name, err)
	}
	return path, nil
}

// resolved asks the program for the configuration that arguments make, which also tells whether they mean anything.
func resolved(program string, args []string) (keys.Tree, error) {
	var out, said bytes.Buffer
	c := exec.Command(program, append(args, "-print-config")...)
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		words := cmp.Or(strings.TrimPrefix(command.OneLine(said.String()), "aperture: "), err.Error())
		return nil, command.Usagef("%s refuses %s: %s", filepath.Base(program), strings.Join(args, " "), words)
	}
	return keys.Parse(out.String(), "the configuration of "+filepath.Base(program))
}

// stated are the keys that arguments set by -set, where the program is not asked for the others.
func stated(args []string) keys.Tree {
	c := keys.Tree{}
	for i, arg := range args {
		setting, found := strings.CutPrefix(strings.TrimLeft(arg, "-"), "set")
		if found && setting == "" && i+1 < len(args) {
			setting = "=" + args[i+1]
		}
		key, value, set := strings.Cut(strings.TrimPrefix(setting, "="), "=")
		section, name, dotted := strings.Cut(key, ".")
		if !found || !set || !dotted {
			continue
		}
		if c[section] == nil {
			c[section] = map[string]any{}
		}
		c[section].(map[string]any)[name] = value
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			c[section].(map[string]any)[name] = n
		}
	}
	return c
}

// number is a key of a resolved configuration, 0 where there is none.
func number(c keys.Tree, section, key string) int {
	n, _ := c.Section(section)[key].(int64)
	return int(n)
}
