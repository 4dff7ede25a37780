package language

import (
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// evaluationTokens is about how many tokens a recurrent network scores at a time.
// The state is carried, so that it changes nothing but speed.
const evaluationTokens = 700

// rows is the length of the chunks in which columns are scored. What a
// Transformer-XL sees depends on it, so it is that of training.
func (m *Model) rows(columns int) int {
	if m.xl != nil {
		return m.Config.Train.BPTT
	}
	return max(1, evaluationTokens/columns)
}

// NLL is the clean negative log-likelihood of a text in nats, summed over the
// tokens that are predicted: (Rows-1) Count of them.
func (m *Model) NLL(text corpus.Columns) (sum float64, tokens int) {
	m.Read(text, m.rows(text.Count), func(states models.TextStates, targets torch.Tensor) {
		for _, x := range m.Output.NLL(OutputStates(states), targets).Float64s() {
			sum += x
		}
		tokens += int(targets.Size(0))
	})
	return sum, tokens
}

// Read takes a text through the network in chunks of so many rows, in evaluation
// and without gradients, and hands the states and targets [N] of each to visit,
// whose tensors live until it returns.
func (m *Model) Read(text corpus.Columns, rows int, visit func(states models.TextStates, targets torch.Tensor)) {
	torch.NoGrad(func() {
		m.read(text, rows, func(states models.TextStates, targets torch.Tensor) bool {
			visit(states, targets)
			return true
		})
	})
}

// read is Read with gradients where they are on, until visit says false.
func (m *Model) read(text corpus.Columns, rows int, visit func(states models.TextStates, targets torch.Tensor) bool) {
	var carried models.Carried
	defer func() { carried.Free() }()
	for row, on := 0, true; on && row < text.Rows-1; row += rows {
		n := min(rows, text.Rows-1-row)
		inputs, targets := text.Chunk(row, n, 0, text.Count)
		scope := torch.OpenScope()
		states, next := m.Network.Forward(models.Chunk{IDs: inputs, Time: n, Columns: text.Count}, carried, nil)
		next.Keep()
		carried.Free()
		carried = next
		on = visit(states, torch.FromInt64s(targets, m.Device, int64(len(targets))))
		scope.Close()
	}
}

// OutputStates are a network's states as the output layer takes them.
func OutputStates(s models.TextStates) objectives.States {
	n := s.Hidden.Size(0)
	out := objectives.States{Hidden: s.Hidden, Columns: s.Columns, Time: make([]int64, n), Column: make([]int64, n)}
	for i := range n {
		out.Time[i], out.Column[i] = i/s.Columns, i%s.Columns
	}
	return out
}
