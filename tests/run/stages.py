#!/usr/bin/env python3
"""What stages of a stream do that the first batch of `overfit` does not show: an order for each epoch, rows that are kept,
batches that are ready ahead. A stage that did nothing fails here.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, scratch

PROGRAM = """ltr 1

extern "count.cpp" {{
  fn counted[N](x: float[N]) -> float[N]
  fn made[N](x: float[N], wanted: int) -> float[N]
}}

data Numbers() {{
  batch[B] {{ x: float[B, {width}] }}
  fn number(s: {{i: int}}) -> {{x: float[{width}]}} = (x = counted(full({width}, 1.0 * s.i)))
  train = range({count}) {stages}
}}

model Reader() {{
  weight w: float[1] = ones(1)
  optimizer opt = SGD(w, lr = 1e-9)
  step train[B](x: float[B, {width}]) {{
    for k in 0 .. B {{ print "{{epoch}} {{mean(x[k]):.6}} {{mean(made(x[k], {wanted})):.6}}" }}
    minimize mean(x * w)
  }}
}}

experiment e {{ data = Numbers(), model = Reader(), trainer {{ epochs = {epochs} }} }}
"""

COUNT = """#include "count.ltr.h"

#include <atomic>
#include <chrono>
#include <thread>

static std::atomic<int64_t> made_so_far = 0;

ltr::Tensor counted(const ltr::Tensor& x) {
  ++made_so_far;
  return x;
}

// How many records were made, once it is `wanted`; a moment later, so that one too many is seen.
ltr::Tensor made(const ltr::Tensor& x, int64_t wanted) {
  for (int i = 0; i < 2000 && made_so_far < wanted; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (wanted > 0) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  return x * 0 + double(made_so_far);
}
"""


def rows(folder, name, stages, *options, epochs=2, count=40, width=1, wanted=0):
    """What each record of a run printed: (epoch, its number, how many were made by then)."""
    source = folder / f"{name}.ltr"
    source.write_text(PROGRAM.format(stages=stages, epochs=epochs, count=count, width=width, wanted=wanted))
    result = fit(build(source, folder), folder / f"{name}-runs", "--json", *options)
    if not check(f"{name}: trains", result.returncode == 0, result.text):
        finish()
    events = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    return [tuple(int(word) for word in event["text"].split()) for event in events if event["event"] == "print"]


with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "count.cpp").write_text(COUNT)

    shown = rows(folder, "shuffle", "|> shuffle(1) |> map(number) |> collate(8)")
    orders = [[number for epoch, number, _ in shown if epoch == one] for one in (0, 1)]
    check("shuffle: every record once in an epoch", all(sorted(order) == list(range(40)) for order in orders), orders)
    check("shuffle: another order, and another one in the next epoch",
          list(range(40)) not in orders and orders[0] != orders[1], orders)

    # More than a map keeps unasked, 256 MiB: its first 40 of 40,000 records of 8 KiB.
    wide = {"count": 40000, "width": 2048}
    shown = rows(folder, "plain", "|> map(number) |> collate(8)", "--limit-train", 5, **wide)
    orders = [[number for epoch, number, _ in shown if epoch == one] for one in (0, 1)]
    check("a stream has the order of its source", orders == [list(range(40))] * 2, orders)
    check("without a cache a record is made in each epoch", shown[-1][2] == 80, shown[-1])
    shown = rows(folder, "cache", "|> map(number) |> cache() |> collate(8)", "--limit-train", 5, **wide)
    check("cache: each record is made once", len(shown) == 80 and shown[-1][2] == 40, shown[-1])

    # One batch in the step, one in the worker, three ready.
    shown = rows(folder, "prefetch", "|> map(number) |> prefetch(3) |> collate(1)", "--set", "topology.workers=1", epochs=1,
                 wanted=5)
    check("prefetch: as many batches as it says are ready ahead", shown[0] == (0, 0, 5), shown[0])
finish()
