#!/usr/bin/env python3
"""A step whose batches come in more sizes than are planned; sizes that only the run knows beside those with a name."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from curves import farthest, rows
from harness import LTRC, build, check, finish, fit, newest, result_of, run, scratch

# Relative, of each value: sums may have another order.
TOLERANCE = 1e-4
# Batches of eleven lengths: more than are planned.
LENGTHS = """ltr 1
data Texts() {
  batch[B, S] { ids: i64[B, S], n: i64[B], y: i64[B] }
  fn text(row: {i: int}) -> {ids: i64[?], y: i64} = (ids = arange(2 + row.i % 11) % 7 + 1, y = row.i % 3)
  fn long(row: {ids: i64[?]}) -> int = row.ids.shape[0]
  train = range(176) |> map(text) |> bucket(by = long, width = 1) |> collate(8, pad = 0, lengths = "n")
}
model Net() {
  table = Embedding(8, 6)
  head = Linear(6, 3)
  optimizer opt = Adam([table.weights, head.weights], lr = 1e-2)
  step train[B, S](ids: i64[B, S], n: i64[B], y: i64[B]) {
    mask = (ids > 0).to(float).unsqueeze(2)
    loss = cross_entropy(head((table(ids) * mask).sum(1) / n.to(float).unsqueeze(1)), y)
    minimize loss
    log loss
  }
}
experiment lengths { data = Texts()
  model = Net()
  trainer { epochs = 3, seed = 3, log_every = 1 }
  callbacks { Checkpoint(every = 1 epochs) }
  loggers { Csv() } }
"""


def many_sizes(folder):
    """A step whose batches come in more sizes than are planned: the plans that there are stay, the rest runs op by op."""
    source = folder / "lengths.ltr"
    source.write_text(LENGTHS)
    program = build(source, folder)
    whole, stopped = folder / "lengths-whole", folder / "lengths-stopped"
    result = fit(program, whole)
    said = "step train: batches of 8 sizes are planned, those of others run op by op"
    check("more sizes than are planned: it says so once", result.returncode == 0 and result.text.count(said) == 1, result.text)
    op_by_op = fit(program, folder / "lengths-torch", "--backend", "torch")
    worst = farthest(rows(whole), rows(folder / "lengths-torch"))
    check("and learns what torch learns", op_by_op.returncode == 0 and worst <= TOLERANCE, worst)
    for epochs in (1, 2):
        fit(program, stopped, "--epochs", epochs, *(("--resume", newest(stopped)) if epochs > 1 else ()))
    result = fit(program, stopped, "--resume", newest(stopped))
    check("stopped and gone on with it is the same bits", result.returncode == 0 and result_of(newest(stopped)) == result_of(newest(whole)), result.text)
    profile = fit(program, folder / "lengths-profile", "--profile")
    check("its plans stay", profile.returncode == 0 and profile.text.count("step train, batches of 8: ") == 8, profile.text)
    result = fit(program, folder / "lengths-native", "--backend", "native")
    check("R2015 where plans were asked for", result.returncode == 2 and "R2015" in result.text and "more than 8 forms" in result.text, result.text)


STRETCHED = """ltr 1
fn operator[B](x: float[B], y: float[B], keep: bool[B]) -> float[] = mean((x - y[keep]) ** 2)
fn function[B](x: float[B], y: float[B], keep: bool[B]) -> float[] = sum(maximum(y[keep], x))
fn choice[B](x: float[B], y: float[B], keep: bool[B]) -> float[] = sum(where(x > 1, x, y[keep]))
fn column[B](x: float[B], y: float[B], keep: bool[B]) -> float[] = sum(y[keep].unsqueeze(1) + ones(B, 2) * x.unsqueeze(1))
fn known(is_long: bool) -> float[2] = (if is_long then ones(2) else ones(1)) + zeros(2)
test "{name}, all kept" {{ assert {call_all} }}
test "{name}, one kept" {{ print {call_one} }}
"""


def stretched(folder):
    """A `?` that is 1 in the run is not stretched over another size: R1006 at its place."""
    x, all_kept, one_kept = "[1.0, 2.0, 3.0]", "stack([true, true, true])", "stack([true, false, false])"
    calls = {name: tuple(f"{name}({x}, {x}, {kept})" for kept in (all_kept, one_kept)) for name in ("operator", "function", "choice", "column")}
    calls["known"] = ("sum(known(true))", "known(false)")
    worth = {"operator": 0.0, "function": 6.0, "choice": 6.0, "column": 24.0, "known": 2.0}
    for name, (whole, one) in calls.items():
        source = folder / f"{name}.ltr"
        source.write_text(STRETCHED.format(name=name, call_all=f"{whole} == {worth[name]}", call_one=one))
        result = run(LTRC, "test", source)
        line = STRETCHED.split("\n").index(next(text for text in STRETCHED.split("\n") if text.startswith(f"fn {name}"))) + 1
        said = "R1006" in result.text and f"{name}.ltr:{line}:" in result.text
        said = said and (name != "column" or "the value is [1, 1], but float[B, 1] is wanted" in result.text)
        check(f"a size of 1 beside another in {name}: R1006", result.returncode != 0 and said and "1 passed, 1 failed" in result.text, result.text)


with scratch() as path:
    many_sizes(pathlib.Path(path))
    stretched(pathlib.Path(path))
finish()
