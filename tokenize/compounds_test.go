package tokenize

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

// Compounds are split as Perl splits them, on lines that show where its matches begin, end and overlap.
func TestSplitCompounds(t *testing.T) {
	file, err := os.Open("testdata/compounds.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for lines := bufio.NewScanner(file); lines.Scan(); n++ {
		var c struct{ Line, Split string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if got := SplitCompounds(c.Line); got != c.Split {
			t.Errorf("%q gives %q, and Perl %q", c.Line, got, c.Split)
		}
	}
	if n < 600 {
		t.Errorf("only %d lines", n)
	}
}
