"""Peer: batched beam search with cached keys and values in plain PyTorch.

Sentences are sorted by length and batched by tokens. Keys and values of the
source are computed once per sentence and shared by its beams; those of the
target are cached and reordered with the beams; finished sentences leave the
batch. Protocol and measuring: see harness.py.

Search: the decoder starts with the end of sentence (2); each step keeps the best
2 x beam continuations of a sentence. A hypothesis is finished when its end of
sentence is among the best `beam`; its score is the sum of log-probabilities, end
of sentence included, over length^lenpen, where the length counts the end of
sentence too. A sentence is done with `beam` finished hypotheses. Padding is never
chosen, an empty translation neither, and after floor(max_len_a x source length
of the batch + max_len_b) tokens only the end of sentence is left.

Configuration: model (a safetensors file in fairseq's names), heads, sentences
(a list of lists of source ids, each with its end of sentence), threads;
optional: beam, lenpen, max_len_a, max_len_b, max_tokens (source tokens of a batch,
padding included), max_sentences, max_positions, seed. Other sizes follow from the
model's tensors. `step 0` translates everything and also reports hypotheses (ids
without end of sentence, in the order of the input), scores and tokens, the
number of ids put out with ends of sentences.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import math

import torch

from transformer import EOS, PAD, Config, Transformer, read_safetensors


def read_config(path, heads, max_positions):
    """Sizes and kinds as the names and shapes of a model file tell them."""
    stored = read_safetensors(path)

    def layers(side):
        return 1 + max(int(name.split(".")[2]) for name in stored if name.startswith(f"{side}.layers."))

    tables = [stored[name] for name in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
                                        "decoder.output_projection.weight") if name in stored]
    if "encoder.embed_positions.weight" in stored:
        max_positions = stored["encoder.embed_positions.weight"].shape[0] - PAD - 1
    ffn, d = stored["encoder.layers.0.fc1.weight"].shape
    return Config(tables[0].shape[0], tables[-1].shape[0], d, ffn, heads, layers("encoder"), layers("decoder"),
                  pre_norm="encoder.layer_norm.weight" in stored,
                  learned_positions="encoder.embed_positions.weight" in stored, max_positions=max_positions,
                  tie={1: "all", 2: "decoder", 3: "none"}[len(tables)])


class Caches:
    """Keys and values, by layer: of the source [B,H,S,K], of the target so far [B*beam,H,T,K]."""

    def __init__(self, model, states_BSD, allowed):
        self.layers = model.decoder.layers
        self.source = [layer.encoder_attn.keys_values(states_BSD) for layer in self.layers]
        self.allowed = allowed
        self.target = [None] * len(self.layers)

    def extend(self, i, k, v):
        if self.target[i] is not None:
            k, v = torch.cat([self.target[i][0], k], 2), torch.cat([self.target[i][1], v], 2)
        self.target[i] = (k, v)
        return k, v

    def reorder(self, rows):
        self.target = [(k.index_select(0, rows), v.index_select(0, rows)) for k, v in self.target]

    def keep(self, sentences):
        self.source = [(k.index_select(0, sentences), v.index_select(0, sentences)) for k, v in self.source]
        self.allowed = self.allowed.index_select(0, sentences)


def next_log_probs(model, caches, last_Bb, t):
    """Log-probabilities [B,beam,V] of what follows the t + 1 tokens so far."""
    b, beam = last_Bb.shape
    x = model.decoder.embed(last_Bb.flatten()[:, None], torch.full((1, 1), PAD + 1 + t, device=last_Bb.device))
    for i, layer in enumerate(model.decoder.layers):
        def look_back(y, i=i, attention=layer.self_attn):
            return attention(y, *caches.extend(i, *attention.keys_values(y)))
        x = layer.residual(x, layer.self_attn_layer_norm, look_back)
        x = layer.look_at_source(x.view(b, beam, -1), *caches.source[i], caches.allowed)
        x = layer.feed_forward(x).view(b * beam, 1, -1)
    return model.decoder.output_projection(model.decoder.finish(x)).log_softmax(-1).view(b, beam, -1)


def search(model, caches, next_log_probs, count, beam, lenpen, max_len, device):
    """The best hypothesis and its score for each of count sources, decoded from caches."""
    alive = torch.arange(count, device=device)  # which sentence a row of the batch is
    finished = [[] for _ in range(count)]
    tokens_BbT = torch.full((count, beam, 1), EOS, device=device)
    scores_Bb = torch.full((count, beam), -math.inf, device=device)
    scores_Bb[:, 0] = 0  # at first all beams are the same one
    for t in range(max_len + 1):
        b = len(alive)
        log_probs_BbV = next_log_probs(model, caches, tokens_BbT[:, :, -1], t)
        log_probs_BbV[:, :, PAD] = -math.inf
        if t == max_len:
            ends = log_probs_BbV[:, :, EOS].clone()
            log_probs_BbV.fill_(-math.inf)
            log_probs_BbV[:, :, EOS] = ends
        elif t == 0:
            log_probs_BbV[:, :, EOS] = -math.inf
        vocabulary = log_probs_BbV.shape[-1]
        best_Bc, flat_Bc = (log_probs_BbV + scores_Bb[:, :, None]).flatten(1).topk(2 * beam, 1)
        parent_Bc, token_Bc = flat_Bc // vocabulary, flat_Bc % vocabulary
        end_Bc = token_Bc.eq(EOS)

        done = torch.zeros(b, dtype=torch.bool, device=device)
        for row, c in (end_Bc[:, :beam] & best_Bc[:, :beam].isfinite()).nonzero().tolist():
            hypotheses = finished[alive[row]]
            if len(hypotheses) < beam:
                ids = tokens_BbT[row, parent_Bc[row, c], 1:].tolist()
                hypotheses.append((best_Bc[row, c].item() / (t + 1) ** lenpen, ids))
                done[row] = len(hypotheses) == beam
        if t == max_len or done.all():
            break

        # The best continuations that are no end; at most `beam` of 2 x beam are ends.
        places_Bb = end_Bc.long().argsort(dim=1, stable=True)[:, :beam]
        parent_Bb, token_Bb = parent_Bc.gather(1, places_Bb), token_Bc.gather(1, places_Bb)
        scores_Bb = best_Bc.gather(1, places_Bb)
        rows = torch.arange(b, device=device)[:, None] * beam + parent_Bb
        if done.any():
            left = (~done).nonzero().squeeze(1)
            caches.keep(left)
            alive, rows, token_Bb, scores_Bb = alive[left], rows[left], token_Bb[left], scores_Bb[left]
        caches.reorder(rows.flatten())
        history = tokens_BbT.flatten(0, 1).index_select(0, rows.flatten()).view(len(alive), beam, -1)
        tokens_BbT = torch.cat([history, token_Bb[:, :, None]], 2)
    return [max(hypotheses, key=lambda h: h[0]) for hypotheses in finished]


def make_batches(sentences, max_tokens, max_sentences):
    """Lists of places in sentences, longest first."""
    batch, width = [], 0
    for place in sorted(range(len(sentences)), key=lambda i: -len(sentences[i])):
        width = width or len(sentences[place])
        if batch and ((len(batch) + 1) * width > max_tokens or len(batch) == max_sentences):
            yield batch
            batch, width = [], len(sentences[place])
        batch.append(place)
    if batch:
        yield batch


def pad(rows, device):
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows], device=device)


OPTIONAL = {"beam": 5, "lenpen": 1.0, "max_len_a": 0.0, "max_len_b": 200, "max_tokens": 4096, "max_sentences": 128, "max_positions": 1024,
            "seed": 1}


def configure(required):
    return harness.configure(required + ["sentences", "threads"], OPTIONAL)


def serve(c, model, begin, next_log_probs, positions):
    """Answers requests to translate; begin(source_BS) makes what decoding a batch carries."""
    sentences = c["sentences"]
    model.eval()

    @torch.inference_mode()
    def translate(_):
        hypotheses, scores = [None] * len(sentences), [None] * len(sentences)
        for places in make_batches(sentences, c["max_tokens"], c["max_sentences"]):
            source_BS = pad([sentences[i] for i in places], c["device"])
            max_len = min(int(c["max_len_a"] * source_BS.shape[1] + c["max_len_b"]), positions - 1)
            best = search(model, begin(source_BS), next_log_probs, len(places), c["beam"], c["lenpen"], max_len, c["device"])
            for i, (score, ids) in zip(places, best):
                scores[i], hypotheses[i] = score, ids
        return lambda: {"hypotheses": hypotheses, "scores": scores, "tokens": sum(len(h) + 1 for h in hypotheses)}

    harness.answer(ready=True, params=sum(p.numel() for p in model.parameters()), sentences=len(sentences))
    harness.serve(lambda: None, translate, 1)


def main():
    c = configure(["model", "heads"])
    sizes = read_config(c["model"], c["heads"], c["max_positions"])
    model = Transformer(sizes)
    model.load(c["model"])
    serve(c, model, lambda source_BS: Caches(model, *model.encode(source_BS)), next_log_probs, sizes.max_positions)


if __name__ == "__main__":
    main()
