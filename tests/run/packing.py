#!/usr/bin/env python3
"""Texts as tokens in windows of one size, `tokenize` and `pack`: every id once and the tail lost, the same windows for any number of workers, in every
epoch, and over a stop; records with other fields beside their text.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, interrupt, newest, result_of, run, scratch

PROGRAM = """ltr 1

data Windows(n: int = 4) {
  batch[B] { tokens: i64[B, n] }
  let tok = tokenizer("tok.json")
  train = jsonl("texts.jsonl") as {text: str, label: int} |> tokenize(tok) |> select("ids") |> pack(n, end = tok.id("<end>")) STAGES |> collate(2)
}

model Reader() {
  weight w: float[1] = ones(1)
  optimizer opt = SGD([w], lr = 1e-4)
  step train[B](tokens: i64[B, 4]) {
    for k in 0 .. B { print "row {epoch} {tokens[k, 0]} {tokens[k, 1]} {tokens[k, 2]} {tokens[k, 3]}" }
    loss = mean(tokens.to(float)) * mean(w * w)
    minimize loss
    log loss
  }
}

experiment windows { data = Windows(), model = Reader(), trainer { epochs = 2 }, callbacks { Checkpoint(every = 3 steps) }, loggers { Csv() } }
"""

LABELLED = """ltr 1

data Rows() {
  batch[B, T] { tokens: i64[B, T], label: i64[B] }
  let tok = tokenizer("tok.json")
  train = jsonl("texts.jsonl") as {text: str, label: int, other: str} |> tokenize(tok, of = "text")
    |> map(s => (tokens = s.ids, label = s.label + s.other.length)) |> collate(2, pad = -1)
}

model Reader() {
  weight w: float[1] = ones(1)
  optimizer opt = SGD([w], lr = 1e-4)
  step train[B, T](tokens: i64[B, T], label: i64[B]) {
    for k in 0 .. B { print "row {label[k]} {tokens[k]}" }
    minimize mean(w * w)
  }
}

experiment rows { data = Rows(), model = Reader(), trainer { epochs = 1 } }
"""

WORDS = ["<end>", "<unk>", *"the quick brown fox jumps over a lazy dog".split()]
TOKENIZER = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
             "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
             "model": {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(WORDS)}, "unk_token": "<unk>"}}
TEXTS = [" ".join(WORDS[2 + (i * k) % 9] for k in range(i % 7)) for i in range(30)]


def rows(program, folder, *options):
    done = fit(program, folder, *options)
    if done.returncode != 0:
        return done.text
    return [tuple(int(one) for one in row.split()) for row in re.findall(r"row ([\d ]+)$", done.stdout, re.M)]


with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "tok.json").write_text(json.dumps(TOKENIZER))
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text, "label": i, "other": "x" * (i % 3)}) + "\n" for i, text in enumerate(TEXTS)))
    ids = [id for text in TEXTS for id in [*[WORDS.index(word) for word in text.split()], 0]]
    windows = [tuple(ids[at:at + 4]) for at in range(0, len(ids) - 3, 4)]
    (folder / "plain.ltr").write_text(PROGRAM.replace("STAGES", ""))
    (folder / "mixed.ltr").write_text(PROGRAM.replace("STAGES", "|> shuffle(1)"))
    plain, mixed = build(folder / "plain.ltr", folder), build(folder / "mixed.ltr", folder)
    found = rows(plain, folder / "runs")
    check("windows hold every id, in order", [row[1:] for row in found if row[0] == 0] == windows, found)
    check("they are the same in every epoch", [row[1:] for row in found if row[0] == 1] == windows, found)
    first = rows(mixed, folder / "runs", "--set", "topology.workers=0")
    check("they are shuffled whole", sorted(row[1:] for row in first if row[0] == 0) == sorted(windows) and
          [row[1:] for row in first if row[0] == 0] != windows, first)
    whole = result_of(newest(folder / "runs"))
    for workers in (1, 3):
        check(f"{workers} workers give the same", rows(mixed, folder / "runs", "--set", f"topology.workers={workers}") == first)
    code, text = interrupt(mixed, folder / "stopped", 5, signal.SIGTERM)
    done = run(mixed, "fit", "--resume", newest(folder / "stopped"), "--no-bar", "--threads", 1)
    if not check("a stopped run goes on", code != 0 and done.returncode == 0, text + done.text):
        finish()
    check("with the same windows", result_of(newest(folder / "stopped"))[1] == whole[1])
    long = rows(plain, folder / "runs", "--set", "data.n=4", "--set", "data.n=400")
    check("texts that fill no window are said", isinstance(long, str) and "error[" in long, long)

    (folder / "rows.ltr").write_text(LABELLED)
    done = fit(build(folder / "rows.ltr", folder), folder / "runs")
    found = re.findall(r"row (\d+) \[(.*)\]", done.stdout)
    wanted = [(i + i % 3, [WORDS.index(word) for word in text.split()]) for i, text in enumerate(TEXTS)]
    check("other fields stay, and `of` names the text", [(int(label), [int(one) for one in row.split(",") if int(one) >= 0]) for label, row in found] == wanted, done.text)
    (folder / "texts.jsonl").write_text(json.dumps({"text": "the fox", "label": 1}) + "\n" + json.dumps({"text": 3, "label": 1}) + "\n")
    done = fit(plain, folder / "runs")
    check("a record that is bad is said", done.returncode == 3 and "error[R3003]" in done.text and "texts.jsonl:2" in done.text, done.text)
finish()
