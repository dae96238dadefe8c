#!/usr/bin/env python3
"""What the compiler counted, shown at the start: sizes of results and FLOPs beside the weights, as long as no hparam or setting has changed a size
since; and what `Throughput` makes of them."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, newest, run, scratch

PROGRAM = """ltr 1

hparam width: int = 16
hparam layers: int = 2
hparam seed: int = 7
hparam size: int = 4
hparam lr: float = 0.1
hparam is_deep: bool = false

data Points(size: int) {
  batch[B] { x: float[B, 4], y: float[B, 2] }
  fn one(i: int) -> {x: float[4], y: float[2]} = (x = full(4, 1.0 * i), y = zeros(2))
  train = synthetic(32, one) |> shuffle(seed) |> collate(size)
}

block Layer(D: int) {
  fc = Linear(D, D)
  fn forward[B](x: float[B, D]) -> float[B, D] = x |> fc |> relu
}

model Net(width: int, layers: int, is_deep: bool, lr: float) {
  stem = Linear(4, width)
  body = [Layer(width) for i in 0 .. layers]
  head = Linear(width, 2)
  optimizer opt = SGD([stem.weights, body.weights, head.weights], lr = lr)
  step train[B](x: float[B, 4], y: float[B, 2]) {
    z = x |> stem |> body |> head
    minimize mse(if is_deep then z * 2 else z, y)
  }
}

experiment table {
  data      = Points(size)
  model     = Net(width, layers, is_deep, lr)
  trainer   { epochs = 2, seed = seed }
  callbacks { Throughput(window = 1 steps, peak = 1e9) }
}
"""


def rows(text):
    return {line.split()[0]: line.split() for line in text.split("\n") if line.startswith("  ") and len(line.split()) > 2}


with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "table.ltr").write_text(PROGRAM)
    program = build(folder / "table.ltr", folder)
    text = run(program, "describe").text
    plan = json.loads(run(LTRC, "plan", folder / "table.ltr", "--json").stdout)
    per_sample = {what: plan["flops_per_batch"][what] / 4 for what in ("forward", "backward")}
    table = rows(text)
    check("sizes of results, B for the batch", "[B, 16]" in " ".join(table.get("stem", [])) and "[B, 2]" in " ".join(table.get("head", [])), text)
    check("FLOPs of a layer, for each sample, without those of a bias", table["stem"][-2:] == [str(2 * 4 * 16), "FLOP"], text)
    each = rows(run(program, "describe", "--set", "callbacks.Summary.depth=2").text)["body.0"]
    number, unit = float(each[-2]), {"FLOP": 1, "kFLOP": 1e3}[each[-1]]
    check("a list has the size of its last, and the sum of all", "[B, 16]" in " ".join(table["body"])
          and abs(float(table["body"][-2]) * {"FLOP": 1, "kFLOP": 1e3}[table["body"][-1]] - 2 * number * unit) <= 1e-3 * number * unit, (text, each))
    check("of a step, forward and backward", "a sample takes " in text and "backward" in text, text)
    forward = float(text.split("a sample takes ")[1].split()[0]) * (1000 if "kFLOP forward" in text else 1)
    check("as many as `ltrc plan` counts", abs(forward - per_sample["forward"]) <= 1e-3 * per_sample["forward"], (forward, per_sample))
    for same in (("--seed", 3), ("--lr", 0.5), ("--size", 8), ("--set", "trainer.epochs=1"), ("--set", "model.lr=0.5")):
        check(f"{same[0]} {same[1]} changes no size", run(program, "describe", *same).text.count("[B, 16]") == 2)
    for other, hint in ((("--width", 32), "ltrc plan table.ltr table --set width=32"), (("--layers", 3), "--set layers=3"), (("--is-deep", "true"), "--set is_deep=true"),
                        (("--set", "model.width=8"), "with `model.width` given"), (("--set", "data.size=8"), "with `data.size` given")):
        text = run(program, "describe", *other).text
        check(f"{other[0]} {other[1]}: what the compiler counted does not stand there", "[B, " not in text.split("trainable")[0] and hint in text, text)
    counted = run(LTRC, "plan", folder / "table.ltr", "table", "--set", "width=32", cwd=folder)
    check("and the command counts it", counted.returncode == 0 and "[4, 32]" in counted.text, counted.text)
    text = run(program, "describe", "--set", "callbacks.Summary.flops=false").text
    check("Summary.flops=false leaves it out", "[B, 16]" not in text.split("trainable")[0] and "FLOP" not in text, text)

    result = run(program, "fit", "--no-bar", "--out", folder / "runs")
    lines = [json.loads(line) for line in (newest(folder / "runs") / "log.jsonl").read_text().split("\n") if line]
    speeds = [line["values"] for line in lines if line["kind"] == "system" and "throughput/tflops" in line["values"]]
    whole = sum(per_sample.values())
    check("Throughput records FLOP/s", result.returncode == 0 and speeds
          and all(abs(one["throughput/tflops"] * 1e12 - whole * one["throughput/samples_per_s"]) <= 1e-6 * whole * one["throughput/samples_per_s"] for one in speeds), (result.text, speeds[:2]))
    check("and the share of the peak", all(abs(one["throughput/mfu"] - one["throughput/tflops"] * 1e3) <= 1e-9 + 1e-6 * one["throughput/mfu"] for one in speeds), speeds[:2])
    run(program, "fit", "--no-bar", "--width", 32, "--lr", 1e-5, "--out", folder / "other")
    text = (newest(folder / "other") / "log.jsonl").read_text()
    check("but not with other sizes", "throughput/samples_per_s" in text and "throughput/tflops" not in text)
    run(program, "fit", "--no-bar", "--width", 32, "--lr", 1e-5, "--set", "callbacks.Throughput.flops=1e6", "--out", folder / "given")
    check("unless they are given", "throughput/tflops" in (newest(folder / "given") / "log.jsonl").read_text())
finish()
