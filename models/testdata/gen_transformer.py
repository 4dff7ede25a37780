"""Goldens of the Transformer: transformer_NAME.safetensors and
transformer_NAME_trained.safetensors for three small models.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_transformer.py (some seconds; writes beside itself).

NAME                 norm  positions  embeddings
postnorm_tied        post  sinusoids  all three one matrix, vocabulary 47
prenorm_learned      pre   learned    target and output one matrix, 53 source and 47 target types
postnorm_separate    post  sinusoids  three matrices, 53 source and 47 target types

Two layers a side, width 16, inner width 31, two heads, no dropout, float64.
Names of parameters are fairseq's; a tied matrix is stored once, as
decoder.embed_tokens.weight. Metadata: config, tied {other name: stored name},
settings of loss and optimizer.

transformer_NAME:
    param/*, grad/*       every parameter, and the gradient of loss
    batch/{source [B,S], prev [B,T], target [B,T]}   right-padded, pad 1, end 2
    encoder_out [m,D], hidden [n,D], logits [n,V]    rows of real tokens, sentence by sentence
    attention [B,T,S]     last decoder layer over the source, averaged over heads
    nll [n]               unsmoothed, by row
    loss []               smoothed by fairseq's definition, sum over n rows / n
    losses [10]           of ten Adam steps on this batch, each before its update
transformer_NAME_trained: the parameters after those ten updates, as a model file.
"""

import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "../../torch/testdata"), os.path.join(here, "../../runs/bench/peer")]

import torch

import goldens
from gen_softmax_loss import smoothed
from transformer import PAD, EOS, Config, Transformer, sinusoids

SEED, SMOOTHING = 20260118, 0.1
ADAM = {"lr": 1e-3, "betas": [0.9, 0.98], "eps": 1e-8, "steps": 10}
SOURCE_LENGTHS, TARGET_LENGTHS = (7, 4, 9, 2), (5, 8, 3, 6)  # with the end of sentence


def tiny(source, **more):
    return Config(source, 47, d=16, ffn=31, heads=2, encoder_layers=2, decoder_layers=2, **more)


MODELS = {
    "postnorm_tied": tiny(47, tie="all"),
    "prenorm_learned": tiny(53, tie="decoder", pre_norm=True, learned_positions=True, max_positions=29),
    "postnorm_separate": tiny(53, tie="none"),
}


def padded(lengths, vocabulary):
    rows = torch.full((len(lengths), max(lengths)), PAD)
    for row, length in zip(rows, lengths):
        row[:length - 1] = torch.randint(3, vocabulary, (length - 1,))
        row[length - 1] = EOS
    return rows


def make_batch(c):
    source_BS, target_BT = padded(SOURCE_LENGTHS, c.source_vocab), padded(TARGET_LENGTHS, c.target_vocab)
    prev_BT = target_BT.clone()
    prev_BT[:, 1:] = target_BT[:, :-1]
    prev_BT[:, 0] = EOS
    prev_BT[target_BT == PAD] = PAD
    return source_BS, prev_BT, target_BT


def evaluate(model, source_BS, prev_BT, target_BT):
    states_BSD, allowed = model.encode(source_BS)
    real_BT = target_BT != PAD
    hidden_nD = model.decode(prev_BT, states_BSD, allowed)[real_BT]
    logits_nV = model.decoder.output_projection(hidden_nD)
    targets_n = target_BT[real_BT]
    return {
        "encoder_out": states_BSD[source_BS != PAD], "hidden": hidden_nD, "logits": logits_nV,
        "attention": model.decoder.layers[-1].encoder_attn.weights_BHTS.mean(1) * real_BT[:, :, None],
        "nll": smoothed(logits_nV, targets_n, "none", 0),
        "loss": smoothed(logits_nV, targets_n, "fairseq", SMOOTHING).mean(),
    }


def check_invariants(model, source_BS, prev_BT, target_BT):
    """Padding and attention's implementation change nothing; the future is unseen."""
    want = evaluate(model, source_BS, prev_BT, target_BT)["logits"]
    rows = 0
    for b, (s, t) in enumerate(zip(SOURCE_LENGTHS, TARGET_LENGTHS)):
        alone = model(source_BS[b:b + 1, :s], prev_BT[b:b + 1, :t])[0]
        assert torch.allclose(alone, want[rows:rows + t], atol=1e-12)
        left = torch.cat([torch.full((1, 3), PAD), source_BS[b:b + 1, :s]], 1)
        assert torch.allclose(model(left, prev_BT[b:b + 1, :t])[0], want[rows:rows + t], atol=1e-12)
        rows += t
    for attention in model.attentions():
        attention.plain = False
    fused = model(source_BS, prev_BT)[target_BT != PAD]
    for attention in model.attentions():
        attention.plain = True
    assert torch.allclose(fused, want, atol=1e-12)
    changed = prev_BT.clone()
    changed[0, 4] = 5 if changed[0, 4] != 5 else 6
    assert torch.equal(model(source_BS, changed)[0, :4], model(source_BS, prev_BT)[0, :4])


def check_counts():
    """Totals that are published or follow from the layers' formulas; sinusoids of width 512."""
    row = sinusoids(3, 512)[2]
    want = torch.tensor([0.90929743, 0.93651021, -0.41614684, -0.35064030, 0.99999998])
    assert torch.allclose(row[[0, 1, 256, 257, 511]], want.double(), atol=1e-8)

    def count(part):
        return sum(p.numel() for p in part.parameters())

    def sized(source, target, d, ffn, layers, heads, tie):
        with torch.device("meta"):
            return Transformer(Config(source, target, d, ffn, heads, layers, layers, tie=tie))

    for (source, target, d, ffn, layers, heads, tie), body, total in (
        ((8848, 6632, 512, 1024, 6, 4, "decoder"), (12616704, 18926592), 39469056),
        ((37000, 37000, 512, 2048, 6, 8, "all"), (18914304, 25224192), 63082496),
        ((32768, 32768, 512, 2048, 6, 8, "all"), (18914304, 25224192), 60915712),
        ((37000, 37000, 1024, 4096, 6, 16, "all"), (75577344, 100780032), 214245376),
        ((32768, 32768, 1024, 4096, 6, 16, "all"), (75577344, 100780032), 209911808),
        ((100, 100, 256, 1024, 4, 4, "all"), (3159040, 4213760), 7372800 + 256 * 100),
        ((100, 100, 128, 256, 4, 4, "all"), (529920, 795136), 1325056 + 128 * 100),
    ):
        model = sized(source, target, d, ffn, layers, heads, tie)
        assert (count(model.encoder.layers), count(model.decoder.layers)) == body
        assert count(model) == total, (count(model), total)


def tied_names(model):
    first, tied = {}, {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        first.setdefault(parameter, []).append(name)
    for names in first.values():
        keep = sorted(names)[0]
        tied.update({name: keep for name in names if name != keep})
    return tied


def main():
    check_counts()
    for offset, (name, c) in enumerate(MODELS.items()):
        goldens.start(SEED + offset)
        model = Transformer(c)
        with torch.no_grad():  # away from the initial ones and zeros, which hide mistakes
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
            for table in (m for m in model.modules() if isinstance(m, torch.nn.Embedding)):
                table.weight[PAD] = 0
        for attention in model.attentions():
            attention.plain = True
        batch = make_batch(c)
        check_invariants(model, *batch)

        tied = tied_names(model)
        parameters = {n: p for n, p in model.named_parameters(remove_duplicate=False) if n not in tied}
        result = evaluate(model, *batch)
        gradients = torch.autograd.grad(result["loss"], list(parameters.values()))
        tensors = {f"param/{n}": p.detach().clone() for n, p in parameters.items()}
        tensors.update({f"grad/{n}": g for n, g in zip(parameters, gradients)})
        tensors.update({f"batch/{n}": t for n, t in zip(("source", "prev", "target"), batch)})
        tensors.update(result)

        adam = torch.optim.Adam(parameters.values(), lr=ADAM["lr"], betas=ADAM["betas"], eps=ADAM["eps"])
        losses = []
        for _ in range(ADAM["steps"]):
            adam.zero_grad()
            loss = evaluate(model, *batch)["loss"]
            loss.backward()
            adam.step()
            losses.append(loss.detach())
        assert losses[0] == result["loss"] and losses[-1] < losses[0]
        tensors["losses"] = torch.stack(losses)
        notes = {"config": vars(c), "tied": tied, "settings": {"smoothing": SMOOTHING, "adam": ADAM}}
        goldens.save(__file__, f"transformer_{name}.safetensors", SEED + offset, tensors, notes)
        goldens.save(__file__, f"transformer_{name}_trained.safetensors", SEED + offset, parameters, notes)


if __name__ == "__main__":
    main()
