#!/usr/bin/env python3
"""Errors of a run name the line of what failed, behind calls of functions that have lines of their own, too; those of `init` name
the weight, and only the rule that counts is asked.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, fit, run, scratch

PROGRAM = """ltr 1

data Words() {
  batch[B] { ids: i64[B, 5], label: i64[B] }
  fn row(s: {i: int}) -> {ids: i64[5], label: i64} = (ids = arange(5), label = s.i - 1)
  train = range(8) |> map(row) |> collate(4)
}

model Tagger() {
  table = Embedding(10, 4)
  rnn = LSTM(4, 6)
  norm = LayerNorm(6)
  head = Linear(6, 3)
  init "*.weight" = INIT
  init "norm.weight" = ones()
  init "rnn.bias*" = zeros()
  optimizer opt = SGD([table.weights, rnn.weights, norm.weights, head.weights], lr = 0.1)
  fn scores[B](ids: i64[B, 5]) -> float[B, 3] {
    y, state = rnn(table(ids))
    last = y[:, 4]
    return head(norm(last))
  }
  step train[B](ids: i64[B, 5], label: i64[B]) {
    minimize cross_entropy(scores(ids),
                           label) with opt
  }
}

experiment e { data = Words(), model = Tagger(), trainer { epochs = 1 } }
"""


def refused(folder, init):
    (folder / "e.ltr").write_text(PROGRAM.replace("INIT", init))
    return fit(build(folder / "e.ltr", folder), folder / "runs")


with scratch() as name:
    folder = pathlib.Path(name)
    result = refused(folder, "kaiming_normal()")
    check("a rule that a later one replaces is not asked; the label is refused at its loss",
          "R3007" in result.text and "e.ltr:24:" in result.text, result.text)
    (folder / "e.ltr").write_text(PROGRAM.replace("INIT", "kaiming_normal()").replace('"norm.weight"', '"head.bias"'))
    result = run(LTRC, "check", folder / "e.ltr")
    check("an initial value that a weight cannot have names it", "E0309" in result.text and "norm.weight" in result.text
          and "e.ltr:14:" in result.text, result.text)
finish()
