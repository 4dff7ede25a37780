"""Peer: beam search with CTranslate2, from the weights that we search with.

The model file is read into the network of transformer.py, whose names are fairseq's, and
from there by the parts of CTranslate2's own converter from fairseq; the converted model is
written to a folder beside the file. Words are passed as the decimal numbers of their ids,
and sentences in batches of 64, sorted by length, as its manual advises. Protocol and
measuring: see harness.py. CTranslate2 allocates for itself: `memory` means little.

Configuration: model (a safetensors file in fairseq's names), heads, sentences (a
list of lists of source ids, each with its end of sentence), threads, compute
(float32 or int8); optional: alone (false), whether each sentence is translated by itself, where `waits` has
the seconds of each; beam, lenpen, max_len_a, max_len_b, max_positions, seed as in
translate_beam.py. max_len_a must be 0, since the longest translation is one for all.
`step 0` translates everything and also reports hypotheses (ids without end of sentence, in
the order of the input), scores and tokens.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import os
import time

if os.environ.get("APERTURE_ISA") == "avx2":
    os.environ["CT2_FORCE_CPU_ISA"] = "AVX2"

import harness  # before anything that needs torch: it explains a missing one

try:
    import ctranslate2
    from ctranslate2.converters import fairseq as convert
    from ctranslate2.specs import common_spec, transformer_spec
except ImportError:
    print("install it with: python3 -m pip install ctranslate2==4.8.5", file=sys.stderr)
    sys.exit(3)


from transformer import PAD, Transformer
from translate_beam import OPTIONAL, read_config


def fill(spec, stack, fill_layer):
    """Copies one side of the network."""
    table = spec.embeddings[0] if isinstance(spec.embeddings, list) else spec.embeddings
    convert.set_embeddings(table, stack.embed_tokens)
    spec.scale_embeddings = stack.scale
    places = stack.embed_positions.weight if stack.learned else stack.positions
    spec.position_encodings.encodings = places.numpy()[PAD + 1:]
    for layer_spec, layer in zip(spec.layer, stack.layers):
        fill_layer(layer_spec, layer)
    if hasattr(stack, "layer_norm"):
        convert.set_layer_norm(spec.layer_norm, stack.layer_norm)


def converted(c, folder):
    """Writes the model as CTranslate2 reads it."""
    sizes = read_config(c["model"], c["heads"], c["max_positions"])
    model = Transformer(sizes)
    model.load(c["model"])
    model.requires_grad_(False)
    spec = transformer_spec.TransformerSpec.from_config((sizes.encoder_layers, sizes.decoder_layers), sizes.heads, pre_norm=sizes.pre_norm,
                                                        activation=common_spec.Activation.RELU)
    fill(spec.encoder, model.encoder, convert.set_transformer_encoder_layer)
    fill(spec.decoder, model.decoder, convert.set_transformer_decoder_layer)
    convert.set_linear(spec.decoder.projection, model.decoder.output_projection)

    def words(count):
        return ["<s>", "<pad>", "</s>", "<unk>"] + [str(i) for i in range(4, count)]

    spec.register_source_vocabulary(words(sizes.source_vocab))
    spec.register_target_vocabulary(words(sizes.target_vocab))
    spec.config.decoder_start_token = spec.config.eos_token
    spec.validate()
    spec.optimize()
    os.makedirs(folder, exist_ok=True)
    spec.save(folder)
    return sum(p.numel() for p in model.parameters())


def main():
    c = harness.configure(["model", "heads", "sentences", "threads", "compute", "pieces"], {"alone": False, **OPTIONAL})
    if c["max_len_a"] != 0:
        harness.fail("configuration: max_len_a must be 0")
    folder = c["model"] + ".ctranslate2-" + c["compute"]
    params = converted(c, folder)
    translator = ctranslate2.Translator(folder, device="cpu", compute_type=c["compute"], inter_threads=1, intra_threads=c["threads"])
    sentences = c["sentences"]
    names = {0: "<s>", 1: "<pad>", 2: "</s>", 3: "<unk>"}
    ids = {name: i for i, name in names.items()}
    sources = [[names.get(i) or str(i) for i in sentence] for sentence in sentences]

    def search(sources):
        return translator.translate_batch(
            sources, max_batch_size=64, beam_size=c["beam"], length_penalty=c["lenpen"], max_decoding_length=c["max_len_b"], min_decoding_length=1,
            max_input_length=0, return_scores=True, suppress_sequences=[["<pad>"]])

    def translate(piece):
        waits, given = [], sources[piece::c["pieces"]]
        if not c["alone"]:
            found = search(given)
        else:
            found = []
            for source in given:
                begin = time.perf_counter()
                found += search([source])
                waits.append(time.perf_counter() - begin)
        hypotheses = [[ids[word] if word in ids else int(word) for word in result.hypotheses[0]] for result in found]
        scores = [result.scores[0] for result in found]
        return lambda: {"hypotheses": hypotheses, "scores": scores, "tokens": sum(len(h) + 1 for h in hypotheses), "waits": waits}

    harness.answer(ready=True, params=params, sentences=len(sentences))
    harness.serve(lambda: None, translate, c["pieces"])


if __name__ == "__main__":
    main()
