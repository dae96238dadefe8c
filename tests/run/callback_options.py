#!/usr/bin/env python3
"""What callbacks and loggers are told: `Throughput(unit = tokens)`, `Histograms(grads = false)`, `Timer(every)`, `TensorBoard(hparams = false)`,
`SpikeGuard(warmup, atol)`; and how much of each stream is taken: `--limit-test`, `--limit-predict`, `--overfit`.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, newest, run, scratch

PROGRAM = """ltr 1
hparam rate: float = 0.001
data Words() {
  batch[B] { ids: i64[B, 6], y: float[B, 1] }
  fn row(s: {i: int}) -> {ids: i64[6], y: float[1]} = (ids = arange(6) % 5, y = full(1, 1.0 * s.i))
  train = range(32) |> map(row) |> shuffle(1) |> collate(4)
  val = range(8) |> map(row) |> collate(4)
  test = range(20) |> map(row) |> collate(4)
  predict = range(20) |> map(row) |> collate(4)
}
model Net(rate: float) {
  table = Embedding(5, 3)
  net = Linear(3, 1)
  seen = MaxMetric()
  val_seen = MaxMetric()
  test_seen = MaxMetric()
  least = MinMetric()
  optimizer opt = SGD([table.weights, net.weights], lr = rate)
  step train[B](ids: i64[B, 6], y: float[B, 1]) {
    minimize mean((net(mean(table(ids), 1)) - y) ** 2)
    log high = seen(max(y))
    log low = least(min(y))
    # 1, but for the steps 3, 6, …
    jump = ones(1)
    if global_step % 3 == 2 { jump = jump * 8.0 }
    log jump = sum(jump) on step
  }
  step val[B](ids: i64[B, 6], y: float[B, 1]) { log high = val_seen(max(y)) }
  step test[B](ids: i64[B, 6], y: float[B, 1]) { log high = test_seen(max(y)) }
  step predict[B](ids: i64[B, 6]) -> float[B, 1] = net(mean(table(ids), 1))
}
experiment e {
  data = Words(), model = Net(rate), trainer { epochs = 4, log_every = 1 }
  callbacks { Throughput(unit = tokens, window = 4 steps), Histograms(grads = false), Timer(every = 2 epochs) }
  loggers { Csv(), TensorBoard(hparams = false) }
}
"""


def lines(folder, name):
    """Those of the journal that hold a value of this name."""
    return [one for one in map(json.loads, (newest(folder) / "log.jsonl").read_text().splitlines()) if name in one.get("values", {})]


def events(folder):
    return b"".join(path.read_bytes() for path in newest(folder).glob("**/events.out.tfevents.*"))


with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "e.ltr").write_text(PROGRAM)
    program = build(folder / "e.ltr", folder)
    runs = folder / "runs"
    result = fit(program, runs)
    check("trains", result.returncode == 0, result.text)
    check("Throughput(unit = tokens): of tokens, each 4 steps", [one["step"] for one in lines(runs, "throughput/tokens_per_s")] == list(range(5, 33, 4))
          and not lines(runs, "throughput/samples_per_s"), lines(runs, "throughput/tokens_per_s"))
    check("Timer(every = 2 epochs)", [one["step"] for one in lines(runs, "time/train_s")] == [16, 32], lines(runs, "time/train_s"))
    check("Histograms(grads = false): of weights alone", events(runs).count(b"weights/net.weight") == 4 and b"gradients/" not in events(runs))
    check("TensorBoard(hparams = false): no table of settings", b"_hparams_/" not in events(runs))
    with_all = fit(program, folder / "all", "--set", "loggers.TensorBoard.hparams=true", "--set", "callbacks.Histograms.grads=true")
    check("and with both of them", with_all.returncode == 0 and b"_hparams_/" in events(folder / "all") and b"gradients/net.weight" in events(folder / "all"), (b"_hparams_/" in events(folder / "all"), events(folder / "all").count(b"gradients/net.weight")))

    text = PROGRAM.replace("Throughput(unit = tokens, window = 4 steps), Histograms(grads = false), Timer(every = 2 epochs)", "GUARD")
    for name, call, wanted in (("spike", "SpikeGuard(of = train.jump, rtol = 1.0, action = stop)", 3), ("warmup", "SpikeGuard(of = train.jump, rtol = 1.0, warmup = 4, action = stop)", 6),
                               ("atol", "SpikeGuard(of = train.jump, rtol = 1.0, atol = 9.0, action = stop)", 32)):
        (folder / f"{name}.ltr").write_text(text.replace("GUARD", call))
        result = fit(build(folder / f"{name}.ltr", folder), folder / f"runs-{name}")
        last = lines(folder / f"runs-{name}", "train/jump")[-1]["step"]
        check(f"{call}: training ends at step {wanted}", result.returncode == 0 and last == wanted, (last, result.text))

    result = fit(program, folder / "over", "--overfit", 2, "--epochs", 3)
    highs = {name: {one["values"][name] for one in lines(folder / "over", name)} for name in ("train/high", "train/low", "val/high")}
    check("--overfit 2: trains and validates on the first two batches, in their order", result.returncode == 0 and "= 6 steps" in result.text
          and highs == {"train/high": {7}, "train/low": {0}, "val/high": {7}}, (highs, result.text))
    for limit, high in ((("--limit-test", 2), "7"), (("--limit-test", "60%"), "11"), ((), "19")):
        result = run(program, "test", "--out", runs, "--threads", 1, *limit)
        check(f"test {' '.join(map(str, limit))}", result.returncode == 0 and f" {high}" in result.stdout and high in result.stdout.split(), result.text)
    for limit, count in ((("--limit-predict", 2), 8), (("--limit-predict", "60%"), 12), ((), 20)):
        result = run(program, "predict", "--out", runs, "--threads", 1, "--write", "-", *limit)
        check(f"predict {' '.join(map(str, limit))}", result.returncode == 0 and len(result.stdout.splitlines()) == count, result.text)
finish()
