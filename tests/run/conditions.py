#!/usr/bin/env python3
"""Steps with conditions on `epoch` and `global_step`: a plan hangs on whether they hold, and not on the counts, so that few plans do for a
run of any length. Of a number that is computed of them there is a plan for each, of which the latest are kept where each runs often
enough. The values are those of op by op, and a run that stops and goes on has the bits of one that did not."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from curves import farthest, rows
from harness import build, check, finish, fit, newest, result_of, run, scratch

PROGRAM = """ltr 1
hparam warm: int = 5
data Points() {
  batch[B] { x: float[B, 4], y: float[B] }
  fn point(s: {i: int}) -> {x: float[4], y: float} = (x = stack([sin(0.3 * s.i), cos(0.7 * s.i), sin(1.1 * s.i), 0.5]), y = sin(0.1 * s.i))
  train = synthetic(40, point) |> collate(8)
}
model Net(warm: int) {
  net = [Linear(4, 8), relu, Linear(8, 1)]
  optimizer opt = SGD(net.weights, lr = 0.05)
  step train[B](x: float[B, 4], y: float[B]) {
    p = net(x).squeeze(1)
    loss = mse(p, y)
    turn = global_step % 7
    late = epoch >= 3 and not (turn == 2)
    if late { loss = loss + 0.1 * p.abs().mean() }
    if global_step % 10 == 0 or turn == 4 { log spread = p.std() }
    minimize (if global_step < warm * 4 then 0.5 else 1.0) * loss
    log loss
  }
}
experiment conditions { data = Points(), model = Net(warm), trainer { epochs = 14, log_every = 1 }, loggers { Csv() } }
"""
# Twenty factors, of 25 steps each.
ANNEALED = re.sub(r"    (turn|late|if) .*\n", "", PROGRAM).replace("synthetic(40, point)", "synthetic(200, point)").replace("epochs = 14", "epochs = 20") \
    .replace("minimize (if global_step < warm * 4 then 0.5 else 1.0) * loss", "minimize loss + min(1.0, 0.03 * epoch) * p.abs().mean()")
# Relative, in f32.
TOLERANCE = 1e-5


def main():
    with scratch() as place:
        folder = pathlib.Path(place)
        for title, text in (("conditions", PROGRAM), ("annealed", ANNEALED)):
            source = folder / f"{title}.ltr"
            source.write_text(text)
            program = build(source, folder)
            found = {}
            for backend in ("torch", "native"):
                result = fit(program, folder / f"{title}-runs" / backend, "--backend", backend)
                check(f"{title}: {backend} runs to its end", result.returncode == 0, result.text)
                found[backend] = rows(folder / f"{title}-runs" / backend)
            check(f"{title}: as op by op", farthest(found["torch"], found["native"]) < TOLERANCE, farthest(found["torch"], found["native"]))
            plan = run(program, "describe", "--plan").text
            says = f"the condition of {source}:" if title == "conditions" else "epoch = 0"
            check(f"{title}: what it hangs on is said", says in plan and "global_step =" not in plan, plan)
            out = folder / f"{title}-runs" / "stopped"
            fit(program, out, "--backend", "native", "--epochs", 11)
            result = fit(program, out, "--backend", "native", "--resume", newest(out))
            check(f"{title}: stopped and gone on with it is the same bits", result.returncode == 0 and
                  result_of(newest(out)) == result_of(newest(folder / f"{title}-runs" / "native")), result.text)
    finish()


if __name__ == "__main__":
    main()
