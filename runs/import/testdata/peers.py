"""Makes models with transformers and says what they make of lines, for peers_test.go and gpt_test.go.

transformers 5.24.0 with torch 2.11.0, sentencepiece 0.2.3.

Reads requests, a line each: the JSON list of a function's name and its arguments; prints the function's answer as a line.
"""
import json
import os
import shutil
import sys

import sentencepiece
import torch
from transformers import (AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig, GPT2Config, GPT2LMHeadModel,
                          GPT2TokenizerFast, MarianConfig, MarianMTModel)

torch.set_num_threads(1)


def make(source, target, folder, options):
    """A MarianMTModel with random weights, and SentencePiece models learnt from two texts.

    Options are "config", keys of MarianConfig, "generation", settings of a search, "std" of the weights, "pieces", "kind"
    (unigram or bpe) and "separate" vocabularies.
    """
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
        for table in model.model.encoder.embed_tokens, model.model.decoder.embed_tokens:
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
    """What generate() makes of lines at the folder's settings."""
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


def gpt(pieces, folder):
    """A small random GPT-2; for lines, the log-probability of the next id behind each but the last, and 10 greedy ids."""
    torch.manual_seed(3)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=2000, n_positions=64, n_embd=24, n_layer=2, n_head=3,
                                       initializer_range=0.2, bos_token_id=0, eos_token_id=0)).eval()
    model.save_pretrained(folder)
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(os.path.join(pieces, name), folder)
    tokenizer = GPT2TokenizerFast(os.path.join(folder, "vocab.json"), os.path.join(folder, "merges.txt"))
    cases = []
    for line in ["Ein Mann schläft.", "Two dogs run\n\n  on grass ", "€ 12½"]:
        ids = tokenizer(line)["input_ids"]
        with torch.no_grad():
            rows = model(torch.tensor([ids])).logits[0, :-1].log_softmax(-1)
            more = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), do_sample=False,
                                  max_new_tokens=10, min_new_tokens=10, eos_token_id=None, pad_token_id=0)
        cases.append({"line": line, "ids": ids, "next": more[0, len(ids):].tolist(),
                      "logprobs": rows.gather(1, torch.tensor(ids[1:])[:, None])[:, 0].tolist()})
    return cases


answers, sys.stdout = sys.stdout, sys.stderr  # libraries print, too
for request in sys.stdin:
    function, *arguments = json.loads(request)
    print(json.dumps(globals()[function](*arguments)), file=answers, flush=True)
