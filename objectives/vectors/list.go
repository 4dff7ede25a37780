package vectors

import (
	"bufio"
	"strconv"
)

// List is every vector of a file, as long as it is and in the file's order.
type List struct {
	Words []string
	Width int
	Rows  []float32 // [len(Words)*Width]
}

// ReadAll reads a file of the formats that Open reads, for no vocabulary.
func ReadAll(path string) (*List, error) {
	l := &List{}
	if err := scan(path, l); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *List) begin(width int) { l.Width = width }

func (l *List) fate([]byte, int64) (fate, int) { return kept, 0 }

func (l *List) keep(word string, vector []float32) {
	l.Words, l.Rows = append(l.Words, word), append(l.Rows, vector...)
}

func (l *List) outside(int, []float64) {}

func (l *List) wanted() []string { return nil }

func (l *List) compose(string, []float32) {}

// Write writes the list as text that ReadAll and other programs read: a first line with the number of vectors and their
// width, then a line each. Numbers have the digits that float32 needs to come back the same. A word must hold no line
// feed; w keeps what fails.
func (l *List) Write(w *bufio.Writer) {
	w.WriteString(strconv.Itoa(len(l.Words)) + " " + strconv.Itoa(l.Width) + "\n")
	var line []byte
	for i, word := range l.Words {
		line = append(line[:0], word...)
		for _, x := range l.Rows[i*l.Width : (i+1)*l.Width] {
			line = strconv.AppendFloat(append(line, ' '), float64(x), 'g', -1, 32)
		}
		w.Write(append(line, '\n'))
	}
}
