#!/usr/bin/env python3
"""`filter`: the right records, whatever order, workers, stops and ranks there are; the runs of a filter that does nothing differ.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, interrupt, newest, result_of, run, scratch

PROGRAM = """ltr 1

hparam least: int = 2

data Numbers(least: int) {{
  batch[B] {{ x: float[B, 2] }}
  fn is_wanted(row: {{i: int}}) -> bool {{
    # From 77 on the shape differs from what it is said to be.
    pair = ones(2 + floor(row.i / 77)) as float[2]
    return row.i % 3 == 1 and row.i > least and mean(pair).item() > 0
  }}
  train = range({count}) {stages} |> map(row => (x = ones(2) * row.i)) |> collate(4)
  val = range(9) |> filter(row => row.i > 4) |> map(row => (x = ones(2) * row.i)) |> collate(4)
}}

model Reader() {{
  net = [Linear(2, 4), tanh, Linear(4, 1)]
  optimizer opt = SGD(net.weights, lr = 0.01)
  step train[B](x: float[B, 2]) {{
    print "{{epoch}} {{x[:, 0]:.0f}}"
    minimize mean(net(0.01 * x))
  }}
  step val[B](x: float[B, 2]) {{ log count = sum(x[:, 0]) reduce sum }}
}}

experiment e {{ data = Numbers(least), model = Reader(), trainer {{ epochs = 3, log_every = 1 }}, loggers {{ Csv() }} }}
"""

BEHIND = "|> shuffle(1) |> filter(is_wanted)"
BEFORE = "|> filter(row => is_wanted(row)) |> shuffle(1)"


def source(folder, name, stages, count=60):
    path = folder / f"{name}.ltr"
    path.write_text(PROGRAM.format(stages=stages, count=count))
    return build(path, folder)


def orders(result):
    """The records of each epoch, in order."""
    found = {}
    for line in result.stdout.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("event") == "print":
            epoch, numbers = event["text"].split(" ", 1)
            found.setdefault(int(epoch), []).extend(json.loads(numbers))
    return [found[epoch] for epoch in sorted(found)]


with scratch() as place:
    folder = pathlib.Path(place)
    wanted = [i for i in range(60) if i % 3 == 1 and i > 2]
    for name, stages in (("behind", BEHIND), ("before", BEFORE)):
        program = source(folder, name, stages)
        result = fit(program, folder / f"{name}-1", "--json", "--set", "topology.workers=1")
        if not check(f"{name}: trains", result.returncode == 0, result.text):
            finish()
        epochs = orders(result)
        check(f"{name}: exactly the records, in each epoch", [sorted(one) for one in epochs] == [wanted] * 3, epochs)
        check(f"{name}: another order in each", epochs[0] != epochs[1] != epochs[2] and wanted not in epochs, epochs)
        for workers in (2, 4):
            other = fit(program, folder / f"{name}-{workers}", "--json", "--set", f"topology.workers={workers}")
            check(f"{name}: the same with {workers} workers", orders(other) == epochs, orders(other))
        code, text = interrupt(program, folder / f"{name}-stopped", 7, signal.SIGTERM)
        again = fit(program, folder / f"{name}-stopped", "--resume", "last", "--set", "trainer.log_every=1")
        check(f"{name}: a resumed run ends with the same bits", code == 75 and again.returncode == 0 and
              result_of(newest(folder / f"{name}-stopped")) == result_of(newest(folder / f"{name}-1")), text + again.text)
        ranks = fit(program, folder / f"{name}-ranks", "--json", "--nproc", 2)
        check(f"{name}: two ranks train", ranks.returncode == 0, ranks.text)
        first = set(sum(orders(ranks), []))
        check(f"{name}: a rank sees part of them", first < set(wanted) or first == set(wanted), first)
        shown = run(program, "describe")
        check(f"{name}: describe counts", "19 samples" in shown.text and "4 samples" in shown.text, shown.text)
        fewer = fit(program, folder / f"{name}-least", "--json", "--least", 30)
        check(f"{name}: by a setting", sorted(orders(fewer)[0]) == [i for i in wanted if i > 30], fewer.text)
        none = fit(program, folder / f"{name}-none", "--least", 99)
        check(f"{name}: nothing is left", none.returncode == 3 and "R3005" in none.text, none.text)
    refused = fit(source(folder, "refused", BEFORE, count=90), folder / "refused")
    check("what the function refuses names the record", refused.returncode == 3 and "R3003" in refused.text and "77:" in refused.text, refused.text)
finish()
