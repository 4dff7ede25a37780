package language

import (
	"fmt"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Updates hands out chunks of running text, an optimizer step's at a time, cut into groups of columns that are
// accumulated.
type Updates struct {
	model    *Model
	settings corpus.ColumnSettings
	reader   *corpus.Reader
	noise    func(epoch int) float64
	share    corpus.Share
	states   []models.Carried // behind the last batch of each group that falls to this process
}

// Updates begins at a position, for one of several processes, with what Carried gave there. noise gives the standard
// deviation of the noise on word vectors in an epoch, counted from 0.
func (m *Model) Updates(text corpus.Columns, s corpus.ColumnSettings, groups int, share corpus.Share, seed uint64,
	from corpus.Position, carried map[string]torch.Tensor, noise func(epoch int) float64) (*Updates, error) {
	reader, err := corpus.NewReader(text, s, seed, from)
	if err != nil {
		return nil, err
	}
	u := &Updates{model: m, settings: s, reader: reader, noise: noise, share: share,
		states: make([]models.Carried, groups)}
	for _, group := range u.mine(text) {
		for i := 0; ; i++ {
			x, found := carried[fmt.Sprintf("%d.%d", group, i)]
			if !found {
				break
			}
			x = x.Clone()
			torch.Keep(x)
			u.states[group] = append(u.states[group], x)
		}
	}
	return u, nil
}

// Carried are the states behind the last batch of each group, by name. An epoch begins without any.
func (u *Updates) Carried() map[string]torch.Tensor {
	all := map[string]torch.Tensor{}
	if u.reader.Position().Batch == 0 {
		return all
	}
	for group, states := range u.states {
		for i, x := range states {
			all[fmt.Sprintf("%d.%d", group, i)] = x
		}
	}
	return all
}

// Next gives the next update. Where lengths are drawn, the learning rate goes with them.
func (u *Updates) Next() (models.Update, error) {
	p := u.reader.Next()
	if p.First {
		u.Close()
	}
	u.model.Network.SetInputNoise(u.noise(p.Epoch))
	next := models.Update{Tokens: p.Span.Rows * p.Columns.Count, Sentences: p.Columns.Count, Rate: 1,
		Position: p.Position}
	if u.settings.Random {
		next.Rate = float64(p.Span.Drawn) / float64(u.settings.BPTT)
	}
	next.Places, next.All = u.mine(p.Columns), len(u.states)
	for _, g := range next.Places {
		first, last := u.columns(p.Columns, g)
		next.Batches = append(next.Batches, &columnGroup{u, p, g, first, last})
	}
	return next, nil
}

// columns are those of a group, from first to last (exclusive).
func (u *Updates) columns(text corpus.Columns, group int) (first, last int) {
	n := len(u.states)
	return group * text.Count / n, (group + 1) * text.Count / n
}

// mine are the groups that fall to this process, the same in every update: states go from one to the next.
func (u *Updates) mine(text corpus.Columns) []int {
	widths := make([]int, len(u.states))
	for g := range widths {
		first, last := u.columns(text, g)
		widths[g] = last - first
	}
	return u.share.Mine(widths)
}

// Rehearse runs the network on a batch of one token, for the draws that it makes.
func (u *Updates) Rehearse(dropout *torch.Stream) (torch.States, torch.Tensor) {
	states, _ := u.model.Network.Forward(models.Chunk{IDs: []int64{0}, Time: 1, Columns: 1}, nil, dropout)
	return states, torch.FromInt64s([]int64{0}, u.model.Device, 1)
}

// Count counts the updates of the first epochs.
func (u *Updates) Count(epochs int) int { return u.reader.Count(epochs) }

// Close frees what was carried.
func (u *Updates) Close() {
	for g, states := range u.states {
		states.Free()
		u.states[g] = nil
	}
}

// columnGroup is a chunk of some neighbouring columns.
type columnGroup struct {
	updates            *Updates
	passage            corpus.Passage
	group, first, last int
}

func (g *columnGroup) Size() int { return g.passage.Span.Rows * (g.last - g.first) }

func (g *columnGroup) Places() int { return g.Size() }

// chunk is what the group reads, and the targets [N].
func (g *columnGroup) chunk() (x models.Chunk, targets []int64) {
	span := g.passage.Span
	inputs, targets := g.passage.Columns.Chunk(span.Row, span.Rows, g.first, g.last)
	return models.Chunk{IDs: inputs, Time: span.Rows, Columns: g.last - g.first}, targets
}

// Operations are those of the network on a chunk and of the output layer's loss for its targets [N], in training.
func (m *Model) Operations(x models.Chunk, targets []int64) torch.Operations {
	return m.Network.Operations(x).Plus(m.Output.Operations(targets))
}

func (g *columnGroup) Operations() torch.Operations {
	return g.updates.model.Operations(g.chunk())
}

func (g *columnGroup) Forward(dropout *torch.Stream) (torch.States, torch.Tensor) {
	u, columns := g.updates, g.passage.Columns
	x, targets := g.chunk()
	states, next := u.model.Network.Forward(x, u.states[g.group], dropout)
	next.Keep()
	u.states[g.group].Free()
	u.states[g.group] = next
	for i := range states.Terms { // a term is a mean over the group's columns
		states.Terms[i].Weight *= float64(g.last-g.first) / float64(columns.Count)
	}
	return states, torch.FromInt64s(targets, torch.CPU, int64(len(targets)))
}
