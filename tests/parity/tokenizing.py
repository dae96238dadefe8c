#!/usr/bin/env python3
"""Texts as ids and back, against Hugging Face's tokenizers: twelve kinds that it trains on what is there, each as its own file
says, over lines of many scripts, of white space, of special tokens and of what is no character. Ids and texts are equal.
Needs tokenizers (exit 77 without); LTRC and LTR_SOURCE say which compiler and sources.

    python tokenizing.py [LINES]        1,500 of each unless given; 100,000 by hand
"""
import json
import os
import pathlib
import random
import sys
import tempfile
import unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"
try:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run/support"))
from harness import EXAMPLES, build, check, failures, run  # noqa: E402

PROGRAM = """ltr 1

data Lines(file: path = "tokenizer.json") {
  batch[B, T] { ids: i64[B, T], back: str[B] }
  let tok = tokenizer(file)
  fn of(s: {text: str}) -> {ids: i64[?], back: str} {
    ids = tok.encode(s.text)
    return (ids = ids, back = tok.decode(ids))
  }
  train = jsonl("lines.jsonl") as {text: str} |> map(of) |> shuffle(1) |> collate(16, pad = -1)
  predict = jsonl("lines.jsonl") as {text: str} |> map(of) |> collate(16, pad = -1)
}

model Echo(size: int) {
  weight w: float[size] = ones(size)
  optimizer opt = SGD([w])
  step train[B, T](ids: i64[B, T]) { minimize mean(w) * mean(ids.to(float)) }
  step predict[B, T](ids: i64[B, T], back: str[B]) -> {ids: i64[B, T], back: str[B]} = (ids = ids, back = back)
}

experiment echo {
  data  = Lines()
  model = Echo(data.tok.size)
  trainer { steps = 1 }
}
"""
PLAY = (EXAMPLES / "data/shakespeare.txt").read_text().split("\n")
SCRIPTS = [(0x20, 0x7e), (0xa0, 0x24f), (0x370, 0x3ff), (0x400, 0x4ff), (0x5d0, 0x5ea), (0x620, 0x64a), (0x900, 0x970), (0xe00, 0xe3a),
           (0x1100, 0x11ff), (0x3040, 0x30ff), (0x4e00, 0x4fff), (0xac00, 0xacff), (0x1f600, 0x1f64f), (0x300, 0x36f), (0x2000, 0x206f),
           (0xff00, 0xff5e), (0x2150, 0x218b), (0xe000, 0xe010), (0xfe00, 0xfe0f)]
ODD = ["<|end|>", "[CLS]", "[MASK]", "<s>", "</s>", "<unk>", "[SEP]", "don't", "we'll", "I'M", "...", "a_b", "x\u0301", "\u0130stanbul", "ẞ", "ﬁ",
       "①", "½", "\u200b", "\u200d", "\x85", "\x1f", "\x00", "\ufffd", "👨\u200d👩\u200d👧", "🇩🇪", "한국어", "e\u0301\u0302", "\t", "\n\n", "   ",
       "\u00a0", "\u3000", "\r\n", *".,;:!?()[]{}\"'-—…$€%&*#@/\\"]
GPT2 = dict(initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def line(chance):
    def word():
        kind = chance.random()
        if kind < 0.4:
            return chance.choice(chance.choice(PLAY).split() or ["a"])
        if kind < 0.7:
            low, high = chance.choice(SCRIPTS)
            chars = [chr(chance.randint(low, high)) for _ in range(chance.randint(1, 8))]
            return "".join(c for c in chars if unicodedata.category(c) not in ("Cn", "Cs"))
        return str(chance.randint(0, 99999)) if kind < 0.8 else chance.choice(ODD)

    return chance.choice(["", " "]) + chance.choice([" ", " ", "", "  "]).join(word() for _ in range(chance.randint(0, 12)))


def made(model, trainer, corpus, normalizer=None, pre=None, decoder=None, added=(), post=None):
    made = Tokenizer(model)
    for name, part in (("normalizer", normalizer), ("pre_tokenizer", pre), ("decoder", decoder)):
        if part is not None:
            setattr(made, name, part)
    made.train_from_iterator(corpus, trainer)
    if added:
        made.add_tokens(list(added))
    if post is not None:
        made.post_processor = post
    return made


def around(single, *tokens):
    return processors.TemplateProcessing(single=single, special_tokens=list(tokens))


def kinds(corpus):
    bpe, byte_level, metaspace = trainers.BpeTrainer, pre_tokenizers.ByteLevel, pre_tokenizers.Metaspace
    few = {"limit_alphabet": 60, "show_progress": False}
    yield "gpt2", made(models.BPE(), bpe(vocab_size=3000, special_tokens=["<|end|>"], **GPT2), corpus, None,
                       byte_level(add_prefix_space=False), decoders.ByteLevel(), (), processors.ByteLevel(trim_offsets=False))
    yield "roberta", made(models.BPE(), bpe(vocab_size=2000, special_tokens=["<s>", "</s>", "<unk>"], **GPT2), corpus, None,
                          byte_level(add_prefix_space=True), decoders.ByteLevel(), [AddedToken("[MASK]", lstrip=True, special=True)],
                          processors.RobertaProcessing(("</s>", 1), ("<s>", 0)))
    yield "llama3", made(models.BPE(ignore_merges=True), bpe(vocab_size=2500, special_tokens=["<|end|>"], **GPT2), corpus, None,
                         pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"), byte_level(add_prefix_space=False, use_regex=False)]),
                         decoders.ByteLevel(), (), processors.Sequence([processors.ByteLevel(), around("<|end|> $A", ("<|end|>", 0))]))
    yield "llama2", made(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"),
                         bpe(vocab_size=2000, special_tokens=["<unk>", "<s>", "</s>", *BYTES], **few), corpus,
                         normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None,
                         decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]),
                         (), around("<s> $A", ("<s>", 1)))
    yield "metaspace", made(models.BPE(unk_token="<unk>", fuse_unk=True), bpe(vocab_size=1500, special_tokens=["<unk>", "</s>"], **few), corpus,
                            normalizers.NFKC(), metaspace(), decoders.Metaspace())
    yield "first", made(models.BPE(unk_token="<unk>"), bpe(vocab_size=1500, special_tokens=["<unk>", "</s>"], **few), corpus, None,
                        metaspace(prepend_scheme="first", split=False), decoders.Metaspace(prepend_scheme="first", split=False),
                        [AddedToken("<s>", rstrip=True, special=True)])
    yield "clip", made(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"),
                       bpe(vocab_size=1500, special_tokens=["<unk>", "</s>"], end_of_word_suffix="</w>", show_progress=False), corpus,
                       normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]),
                       pre_tokenizers.Split(Regex(CLIP), "removed", invert=True), decoders.BPEDecoder("</w>"))
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    yield "bert", made(models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(vocab_size=2500, special_tokens=special, limit_alphabet=200, show_progress=False),
                       corpus, normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(), (),
                       around("[CLS] $A [SEP]", ("[CLS]", 2), ("[SEP]", 3)))
    yield "cased", made(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=9),
                        trainers.WordPieceTrainer(vocab_size=2000, special_tokens=special, show_progress=False), corpus,
                        normalizers.BertNormalizer(lowercase=False), pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(cleanup=False),
                        [AddedToken("don't", single_word=True, normalized=True)], processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)))
    yield "unigram", made(models.Unigram(), trainers.UnigramTrainer(vocab_size=2500, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False),
                          PLAY, normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]), metaspace(),
                          decoders.Metaspace(), (), around("$A </s>", ("</s>", 1)))
    words = trainers.WordLevelTrainer(vocab_size=3000, special_tokens=["[UNK]"], show_progress=False)
    yield "words", made(models.WordLevel(unk_token="[UNK]"), words, corpus,
                        normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Strip()]),
                        pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation("merged_with_next")]))
    yield "cut words", made(models.WordLevel(unk_token="[UNK]"), words, corpus, normalizers.NFKD(),
                            pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Digits(),
                                                     pre_tokenizers.Split("e", "merged_with_previous"), pre_tokenizers.CharDelimiterSplit("-")]))


def compare(name, tokenizer, program, folder, lines):
    file = folder / f"{name.replace(' ', '_')}.json"
    tokenizer.save(str(file))
    out = folder / f"{file.stem}.jsonl"
    done = run(program, "predict", "--weights", "new", "--set", f"data.file={file}", "--write", out, "--no-bar", cwd=folder, timeout=600)
    if not check(f"{name}: the file is read", done.returncode == 0, done.text):
        return
    rows = [json.loads(row) for row in out.read_text().split("\n")[:-1]]
    expected = [tokenizer.encode(text).ids for text in lines]
    wrong = [i for i, (row, ids) in enumerate(zip(rows, expected, strict=True)) if [id for id in row["ids"] if id >= 0] != ids]
    check(f"{name}: {len(lines)} texts have the ids", not wrong, "\n".join(f"{ascii(lines[i])}\n  {rows[i]['ids']}\n  {expected[i]}" for i in wrong[:3]))
    backs = [tokenizer.decode(ids) for ids in expected]
    wrong = [i for i, (row, back) in enumerate(zip(rows, backs)) if row["back"] != back]
    check(f"{name}: and these the texts", not wrong, "\n".join(f"{ascii(rows[i]['back'])}\n  {ascii(backs[i])}" for i in wrong[:3]))


def main(count):
    chance = random.Random(5)
    lines = [line(chance) for _ in range(count)] + PLAY[:count // 3] + ["", " ", "\n", "a", " a", "  a  b", "a "]
    corpus = PLAY + [line(chance) for _ in range(3000)]
    with tempfile.TemporaryDirectory(prefix="ltr-") as place:
        folder = pathlib.Path(place)
        (folder / "echo.ltr").write_text(PROGRAM)
        (folder / "lines.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in lines))
        program = build(folder / "echo.ltr", folder)
        for name, tokenizer in kinds(corpus):
            compare(name, tokenizer, program, folder, lines)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1500))
