#!/usr/bin/env python3
"""`trainer.val_at_start`: a round before the first update, which changes nothing behind it.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import csv
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, newest, run, scratch

PROGRAM = """ltr 1

data Numbers() {
  batch[B] { x: float[B, 2] }
  fn row(s: {i: int}) -> {x: float[2]} = (x = ones(2) * s.i)
  train = range(8) |> map(row) |> shuffle(1) |> collate(4)
  val = range(6) |> map(row) |> collate(4)
}

model Line() {
  net = Linear(2, 1)
  optimizer opt = SGD(net.weights, lr = 0.01)
  step train[B](x: float[B, 2]) { minimize mean(net(x) ** 2) }
  step val[B](x: float[B, 2]) { log loss = mean(net(x) ** 2) }
}

experiment e {
  data = Numbers(), model = Line(), trainer { epochs = 3, log_every = 1 }
  loggers { Csv() }, callbacks { Checkpoint(monitor = val.loss) }
}
"""


def rows(folder):
    with open(newest(folder) / "metrics.csv") as file:
        return list(csv.DictReader(file))


def weights(folder):
    return (newest(folder) / "checkpoints/last/weights.safetensors").read_bytes()


with scratch() as name:
    folder = pathlib.Path(name)
    (folder / "e.ltr").write_text(PROGRAM)
    program = build(folder / "e.ltr", folder)
    plain, early = fit(program, folder / "plain"), fit(program, folder / "early", "--set", "trainer.val_at_start=true")
    check("both train", plain.returncode == early.returncode == 0, plain.text + early.text)
    still = fit(program, folder / "still", "--set", "model.opt.lr=0", "--epochs", 1)
    first, *rest = rows(folder / "early")
    check("the first row is of step 0, and has what weights give that nobody moved", first["step"] == "0"
          and first["val/loss"] == rows(folder / "still")[-1]["val/loss"] and not first["lr/opt"], (first, still.text))
    check("what follows is as without it", rest == rows(folder / "plain"), rest)
    check("the weights are, too", weights(folder / "early") == weights(folder / "plain"))
    resumed = fit(program, folder / "early", "--resume", "last", "--epochs", 4, "--set", "trainer.val_at_start=true")
    check("a resume has no such round", resumed.returncode == 0
          and [row["step"] for row in rows(folder / "early")].count("0") == 1, resumed.text)
finish()
