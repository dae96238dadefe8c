#!/usr/bin/env python3
"""What a `sweep` says reaches the program: `describe` shows it; that of an amended experiment replaces it.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, run, scratch

PROGRAM = """ltr 1

hparam lr: float = 0.1 where lr > 0
hparam width: int = 4
hparam most: int = 20

data Ones(size: int = 4) {
  batch[B] { x: float[B, 2] }
  train = range(8) |> map(row => (x = ones(2))) |> shuffle(1) |> collate(size)
  val = range(4) |> map(row => (x = ones(2))) |> collate(size)
}
model Net(lr: float, width: int) {
  net = [Linear(2, width), relu, Linear(width, 1)]
  optimizer opt = SGD(net.weights, lr = lr)
  step train[B](x: float[B, 2]) { minimize mean(net(x) ** 2) }
  step val[B](x: float[B, 2]) { log loss = mean(net(x) ** 2) }
}
experiment one {
  data = Ones(), model = Net(lr, width), trainer { epochs = 1 }
  sweep { lr = log_uniform(1e-3, 1), width in [4, 8], trials = most, minimize = val.loss, prune = asha(max = 9 epochs) }
}
experiment two amends one { sweep { width in [2, 3], method = grid, maximize = val.loss } }
experiment plain { data = Ones(), model = Net(lr, width), trainer { epochs = 1 } }
"""

with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "sweeps.ltr").write_text(PROGRAM.replace("maximize = val.loss", "minimize = val.loss"))
    program = build(folder / "sweeps.ltr", folder)

    def shown(experiment, *options):
        result = run(program, "describe", experiment, *options)
        check(f"{experiment} is described", result.returncode == 0, result.text)
        return next((line for line in result.stdout.splitlines() if line.startswith("sweep")), "")

    said = shown("one", "--most", 30)
    check("axes and settings", said == "sweep  lr = log_uniform(low = 0.001, high = 1.0), width in [4, 8], trials = 30, minimize = val.loss, "
          "prune = asha(max = 9 epochs, min = 1 epoch, eta = 3)", said)
    said = shown("two")
    check("an amended one replaces them", said == "sweep  width in [2, 3], method = grid, minimize = val.loss", said)
    check("none, no line", shown("plain") == "")
finish()
