#!/usr/bin/env python3
"""What hooks see of a batch: `batch.x` around each step, `output` behind `step predict`, in strings.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, run, scratch

PROGRAM = """ltr 1

data Numbers() {
  batch[B] { x: float[B, 2], y: i64[B] }
  fn row(s: {i: int}) -> {x: float[2], y: i64} = (x = ones(2) * s.i, y = arange(10)[s.i % 10])
  train = range(8) |> map(row) |> collate(4)
  val = range(6) |> map(row) |> collate(4)
  predict.low = range(3) |> map(row) |> select("x") |> collate(2)
  predict.high = range(5) |> skip(4) |> map(row) |> select("x") |> collate(2)
}

model Line() {
  net = Linear(2, 1)
  optimizer opt = SGD(net.weights, lr = 0)
  step train[B](x: float[B, 2]) { minimize mean(net(x)) }
  step val[B](x: float[B, 2]) { log loss = mean(net(x)) }
  step predict[B](x: float[B, 2]) -> {twice: float[B, 2], first: float[B]} = (twice = 2 * x, first = x[:, 0])
}

callback Seen for Line {
  on train_batch_start { print "train {batch.y} {batch.x.shape}" }
  on train_batch_end { log most = max(batch.x) on epoch }
  on val_batch_end { print "val {batch.y} {batch_size}" }
  on predict_batch_start { print "{stream} gives {batch_size}: {batch.x:.0f}" }
  on predict_batch_end { print "{stream} predicted {output.twice:.0f} {output.first:.0f} {output}" }
}

experiment e { data = Numbers(), model = Line(), trainer { epochs = 1, sanity_val = 0 }, loggers { Csv() }, callbacks { Seen() } }
"""


def prints(result):
    events = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    return [event["text"] for event in events if event["event"] == "print"]


with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "seen.ltr").write_text(PROGRAM.replace("lr = 0)", "lr = 1e-9)"))
    program = build(folder / "seen.ltr", folder)
    result = fit(program, folder / "runs", "--json")
    check("trains", result.returncode == 0, result.text)
    check("each batch is seen by its fields, also those that no step reads", prints(result) ==
          ["train [0, 1, 2, 3] [4, 2]", "train [4, 5, 6, 7] [4, 2]", "val [0, 1, 2, 3] 4", "val [4, 5] 2"], prints(result))
    table = (max((folder / "runs/e").glob("0*")) / "metrics.csv").read_text().splitlines()
    column = table[0].split(",").index("train/most")
    check("and logged", [row.split(",")[column] for row in table[1:] if row.split(",")[column]] == ["5"], table)
    result = run(program, "predict", "--json", "--out", folder / "runs", "--write", folder / "out.jsonl")
    check("what predict returned is seen", prints(result) ==
          ["predict.low gives 2: [[0, 0], [1, 1]]",
           "predict.low predicted [[0, 0], [2, 2]] [0, 1] (twice = [[0, 0], [2, 2]], first = [0, 1])",
           "predict.low gives 1: [[2, 2]]", "predict.low predicted [[4, 4]] [2] (twice = [[4, 4]], first = [2])",
           "predict.high gives 1: [[4, 4]]", "predict.high predicted [[8, 8]] [4] (twice = [[8, 8]], first = [4])"],
          result.text)
finish()
