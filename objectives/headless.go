package objectives

import (
	"errors"

	"github.com/aperture-ml/aperture/torch"
)

// headless is the method: a likelihood.
var headless = Method{
	Name: "headless",
	Summary: "tells the target's word vector from those of the other targets of the batch, without scoring the " +
		"vocabulary",
	Paper:   "Godey et al. 2024",
	Formula: "-log softmax(W_batch h)[y], W_batch the rows of W of all targets of the batch", Parameters: "none",
	Cost: "3 N^2 D multiplications for the N targets of a batch, in place of 3 N V D",
	Build: func(Settings, bool) Pieces {
		return Pieces{Likelihood: &Headless{}}
	},
}

// Headless is contrastive weight tying (Godey, de la Clergerie and Sagot 2024, "Headless language models: Learning
// without predicting with contrastive weight tying"). Training scores no vocabulary: a hidden state is to be nearest to
// the input's vector of its target among the vectors of all targets of the batch, duplicates among them.
//
//	-log exp(h_i w_{y_i}) / sum_j exp(h_i w_{y_j})     j over the targets of the batch
//
// The loss that training reports is this one. Evaluation and decoding take the softmax over W, which training has not
// made a likelihood: the authors start mle from the model's weights and train on, to get a head for perplexities. There
// is no bias, since in training a word has a score only where it is a target.
//
// The loss of a target depends on its batch, so that, unlike every other method's, the gradients of an update depend on
// how it is cut into batches. Padding is no target.
//
// Departures: the authors add 1e-9 to the sum, which keeps it from 0, where the logarithm of the sum is taken as such
// here. Their temperature is 1, and there is none here. Their program for fine-tuning unties the head from the input
// while it trains on; here a tied model stays tied.
//
// Legend: N rows, K of them that count, D width.
type Headless struct {
	embedding Embedding
	head      Head
	padding   int64
}

// Init takes the embedding, which the model's input must read.
func (l *Headless) Init(e Embedding, p Config) error {
	if err := p.sameWidth(false); err != nil {
		return err
	}
	if p.OutputOnly {
		return errors.New("headless aims at the word vectors that the model reads, and this one's input has vectors " +
			"of its own: tie the two with model.tying")
	}
	l.embedding, l.head, l.padding = e, e.Head(), p.Padding
	return nil
}

// Loss is the contrastive loss, summed and scaled, and that of each row.
func (l *Headless) Loss(s torch.States, targets_N torch.Tensor, scale float64) (loss, nll_N torch.Tensor) {
	var rows, ids []int64
	for i, y := range targets_N.To(torch.Int64, torch.CPU).Int64s() {
		if y != l.padding {
			rows, ids = append(rows, int64(i)), append(ids, y)
		}
	}
	n, k, d := targets_N.Size(0), int64(len(ids)), s.Hidden.Device()
	if k == 0 {
		return s.Hidden.Sum().MulScalar(0), torch.Zeros(torch.Float32, d, n)
	}
	w_KD := l.embedding.Lookup(torch.FromInt64s(ids, d, k))
	places_K, h_KD := torch.FromInt64s(rows, d, k), s.Hidden
	if k < n {
		h_KD = h_KD.IndexSelect(0, places_K)
	}
	loss, nll_K := torch.SoftmaxLoss(h_KD, w_KD, torch.Tensor{}, torch.Arange(k, torch.CPU),
		torch.SoftmaxLossOptions{Ignore: none, Scale: scale})
	if k == n {
		return loss, nll_K
	}
	return loss, nll_K.ScatterRows(places_K, n)
}

// NLL is the clean negative log-likelihood by row, of a softmax over W.
func (l *Headless) NLL(s torch.States, targets_N torch.Tensor) torch.Tensor {
	return torch.Evaluated(func() torch.Tensor {
		_, nll_N := torch.SoftmaxLoss(l.head.Map(s.Hidden), l.head.Weight, torch.Tensor{}, targets_N,
			torch.SoftmaxLossOptions{Ignore: l.padding, Scale: 1, Evaluate: true})
		return nll_N
	})
}

// LogProbs are log-probabilities of a softmax over W.
func (l *Headless) LogProbs(hidden_ND torch.Tensor) torch.Tensor {
	return torch.Evaluated(func() torch.Tensor {
		return torch.Linear(l.head.Map(hidden_ND), l.head.Weight, torch.Tensor{}).LogSoftmax(-1)
	})
}

// Search says that a search can score and choose in one pass.
func (l *Headless) Search() Search { return Search{Softmax: true, Head: l.head} }

// Operations are 3 N^2 D multiplications, and those of looking the targets up.
func (l *Headless) Operations(w Work) torch.Operations {
	n := int64(len(w.Targets))
	_, d := l.embedding.Size()
	return torch.ProductOperations(n, d, n).AtOnce().Plus(w.Embedding(Work{Rows: n}))
}
