package vectors

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
