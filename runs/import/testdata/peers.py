"""Makes models with transformers and translates with them, for peers_test.go.

transformers 5.24.0 with torch 2.11.0, sentencepiece 0.2.3.

    python3 peers.py make SOURCE TARGET FOLDER OPTIONS     a MarianMTModel with random weights, SentencePiece models
                                                           learnt from two texts
    python3 peers.py generate FOLDER < lines > answers     {"lines", "scores", "ids"} by generate() at the folder's settings

OPTIONS is JSON: keys of MarianConfig, and "std" of the weights, "pieces", "kind" (unigram or bpe), "separate"
vocabularies, "generation" settings.
"""
import json
import os
import sys

import sentencepiece
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig, MarianConfig, MarianMTModel

torch.set_num_threads(1)


def make(source, target, folder, options):
    os.makedirs(folder)
    vocabularies = []
    for path, name in (source, "source"), (target, "target"):
        sentencepiece.SentencePieceTrainer.train(
            input=path, model_prefix=os.path.join(folder, name), vocab_size=options["pieces"],
            model_type=options.get("kind", "unigram"), minloglevel=2, num_threads=1)
        os.rename(os.path.join(folder, name + ".model"), os.path.join(folder, name + ".spm"))
        os.remove(os.path.join(folder, name + ".vocab"))
        model = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, name + ".spm"))
        pieces = [model.id_to_piece(i) for i in range(model.get_piece_size())]
        vocabularies.append([p for p in pieces if p not in ("<s>", "</s>", "<unk>")])
    if not options.get("separate"):  # one vocabulary, as OPUS-MT has
        vocabularies = [sorted(set(vocabularies[0]) | set(vocabularies[1]))]
    for name, pieces in zip(("vocab.json", "target_vocab.json"), vocabularies):
        tokens = ["</s>", "<unk>"] + pieces
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            json.dump({t: i for i, t in enumerate(tokens + ["<pad>"])}, f, ensure_ascii=False)
    sizes = [len(v) + 3 for v in vocabularies]
    pad = sizes[0] - 1
    if options.get("separate"):
        assert sizes[0] == sizes[1], sizes
    config = dict(vocab_size=sizes[0], d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                  decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=128,
                  pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0, forced_eos_token_id=0, bos_token_id=None,
                  scale_embedding=True, activation_function="swish")
    if options.get("separate"):
        config.update(decoder_vocab_size=sizes[1], share_encoder_decoder_embeddings=False)
    config.update(options.get("config", {}))
    torch.manual_seed(7)
    model = MarianMTModel(MarianConfig(**config)).eval()
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed_positions" not in name and p.dim() == 2:
                p.copy_(torch.randn(p.shape, generator=generator) * options.get("std", 0.02))
            elif "bias" in name:
                p.copy_(torch.randn(p.shape, generator=generator) * 0.1)
        for table in model.model.shared, model.model.encoder.embed_tokens, model.model.decoder.embed_tokens:
            if table is not None:
                table.weight[pad] = 0
        model.final_logits_bias.copy_(torch.randn(model.final_logits_bias.shape, generator=generator) * 0.3)
        model.final_logits_bias[0, 0] += options.get("end", 0)
    settings = dict(pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0, forced_eos_token_id=0,
                    bad_words_ids=[[pad]])
    settings.update(options.get("generation", {}))
    model.generation_config = GenerationConfig(**settings)
    model.save_pretrained(folder)
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump({"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "de",
                   "separate_vocabs": bool(options.get("separate"))}, f)


def generate(folder, lines):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    answers = {"lines": [], "scores": [], "ids": []}
    for line in lines:
        out = model.generate(**tokenizer(line, return_tensors="pt"), output_scores=True, return_dict_in_generate=True)
        answers["lines"].append(tokenizer.decode(out.sequences[0], skip_special_tokens=True))
        answers["ids"].append(out.sequences[0].tolist())
        if out.get("sequences_scores") is not None:
            answers["scores"].append(float(out.sequences_scores[0]))
    return answers


if sys.argv[1] == "make":
    make(sys.argv[2], sys.argv[3], sys.argv[4], json.loads(sys.argv[5]))
else:
    json.dump(generate(sys.argv[2], sys.stdin.read().splitlines()), sys.stdout)
