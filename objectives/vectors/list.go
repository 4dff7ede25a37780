package vectors

import (
	"os"
	"strings"
)

// List is every vector of a file, as long as it is and in the file's order.
type List struct {
	Words []string
	Width int
	Rows  []float32 // [len(Words)*Width]
}

// ReadAll reads a file of the formats that Open reads, for no vocabulary.
func ReadAll(path string) (*List, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	scan := scanText
	if strings.HasSuffix(path, ".bin") {
		scan = scanBinary
	}
	l := &List{}
	if err := scan(f, path, l); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *List) begin(width int) { l.Width = width }

func (l *List) add(word string, vector []float32) {
	l.Words, l.Rows = append(l.Words, word), append(l.Rows, vector...)
}
