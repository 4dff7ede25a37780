package train

import (
	"fmt"
	"slices"

	"github.com/aperture-ml/aperture/torch"
)

// averaging is where averaged gradient descent stands, for the checkpoint.
type averaging struct {
	Steps int64   `json:"steps"`
	Rate  float64 `json:"rate"` // of the last step, which scales the next one where train.asgd_lag is set
}

// stalls is the rule by which AWD-LSTM turns to averaging (Merity, Keskar and Socher 2018): a validation loss is worse
// than the best of those before the last n.
func stalls(history []float64, loss float64, n int) bool {
	return len(history) > n && loss > slices.Min(history[:len(history)-n])
}

// considerAveraging begins averaging, or ends a finetuning, after the validation of an epoch.
func (t *trainer) considerAveraging(loss float64) {
	c := t.config.Train
	if c.ASGD == "none" || c.ASGD == "trigger" && t.asgd != nil {
		return
	}
	stalled := stalls(t.state.History, loss, c.ASGDPatience)
	t.state.History = append(slices.Clone(t.state.History), loss)
	switch {
	case c.ASGD == "trigger" && stalled:
		t.beginAveraging()
		t.run.Log.Printf("validation has not improved in %d epochs: averaging begins", c.ASGDPatience)
	case c.ASGD == "epoch" && t.asgd == nil && t.state.Position.Epoch >= c.ASGDEpoch:
		t.beginAveraging()
		t.run.Log.Printf("averaging begins after epoch %d", t.state.Position.Epoch)
	case c.ASGD == "finetune" && stalled:
		t.state.Stopped = fmt.Sprintf("the averaged weights have not improved in %d epochs", c.ASGDPatience)
		t.run.Log.Printf("finetuning ends: %s; the best was at update %d", t.state.Stopped, t.state.BestStep)
	}
}

// beginAveraging replaces the optimizer: the rate is that of the start again.
func (t *trainer) beginAveraging() {
	c := t.config.Train
	t.asgd = torch.NewASGD(t.Params.Tensors(), c.WeightDecay, c.ASGDLag)
	t.state.Optimizer, t.state.Factor, t.state.Averaging = "asgd", 1, averaging{}
}
