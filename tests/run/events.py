#!/usr/bin/env python3
"""What `--json` writes is what docs/runtime/events.md says: each event has its members, and values have the names of `metrics.csv`.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import csv
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import SOURCE, build, check, finish, newest, run, scratch

PROGRAM = """ltr 1
hparam lr: float = 0.01
data Rows(size: int = 4) {
  batch[B] { x: float[B], y: float[B] }
  fn row(s: {i: int}) -> {x: float, y: float} = (x = 0.1 * s.i, y = 0.3 * s.i)
  train = range(40) |> map(row) |> shuffle(1) |> collate(size)
  val = range(8) |> map(row) |> collate(4)
  test.near = range(4) |> map(row) |> collate(4)
  test.far = range(8) |> map(row) |> collate(4)
  predict = range(4) |> map(row) |> collate(4)
}
model Net(lr: float) {
  net = Linear(1, 1)
  optimizer opt = SGD(net.weights, lr = lr)
  step train[B](x: float[B], y: float[B]) {
    loss = mse(net(x.unsqueeze(1)).squeeze(1), y)
    minimize loss
    log loss on both bar
  }
  step val[B](x: float[B], y: float[B]) { log loss = mse(net(x.unsqueeze(1)).squeeze(1), y) }
  step test[B](x: float[B], y: float[B]) { log loss = mse(net(x.unsqueeze(1)).squeeze(1), y) }
  step predict[B](x: float[B]) -> float[B] = net(x.unsqueeze(1)).squeeze(1)
}
callback Tell { on train_end { print "over" } }
experiment rows {
  data = Rows(), model = Net(lr), trainer { epochs = 2 }, loggers { Csv() }
  callbacks { Tell() }
  sweep { lr in [0.001, 0.01], method = grid, minimize = val.loss }
}
"""


def documented():
    """{(event, verb): members}"""
    rows = {}
    for line in (SOURCE / "docs/runtime/events.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) != 4 or not cells[0].startswith("`"):
            continue
        verbs = [words.split()[0] + "".join(f" {word}" for word in words.split()[1:]) for words in re.findall(r"`([^`]+)`", cells[1])] or [""]
        for verb in verbs:
            rows[cells[0].strip("`"), verb] = cells[3].strip("`").split()
    return rows


def members_of(rows, event, verb):
    for key in ((event, verb), (event, verb.split()[0]), (event, "")):
        if key in rows:
            return rows[key]
    return None


def main():
    rows, seen = documented(), set()
    trial = ["trial", "state", "values", "best", "at_rungs", "epochs", "steps", "seconds", "reason"]
    with scratch() as name:
        folder = pathlib.Path(name)
        (folder / "rows.ltr").write_text(PROGRAM)
        program = build(folder / "rows.ltr", folder)

        def events_of(verb, *options):
            result = run(program, *verb.split(), "--json", "--threads", 1, "--out", folder / "runs", *options)
            events = [json.loads(line) for line in result.stdout.splitlines()]
            wrong = []
            for one in events:
                members = members_of(rows, one["event"], verb)
                wanted = trial if one["event"] == "trial" else members
                head = ["event"] if one["event"] == "error" else ["event", "time"]
                seen.add(one["event"])
                if wanted is None or list(one) != head + wanted:
                    wrong.append((one, wanted))
            check(f"{verb} {' '.join(map(str, options))}".strip(), bool(events) and not wrong, wrong or result.text)
            return events

        events = events_of("fit")
        header, *lines = csv.reader((newest(folder / "runs") / "metrics.csv").read_text().splitlines())
        told = {name for one in events for name in one.get("values", {}) if one["event"] in ("step", "round")}
        check("values have the names of metrics.csv", told and told <= set(header), (sorted(told), header))
        last = next(one for one in events if one["event"] == "end")["values"]
        check("so have those of the end", set(last) == {"train/loss", "val/loss"}, last)
        events_of("fit --profile", "--epochs", 1)
        events_of("validate")
        ends = events_of("test")[-1]
        check("streams with their means", [one["name"] for one in ends["streams"]] == ["near", "far"], ends)
        events_of("predict", "--write", folder / "rows.csv")
        events_of("fit --find-lr")
        events_of("fit --find-batch")
        events_of("sweep")
        events_of("fit", "--lr", "many")
    known = {event for event, _ in rows}
    check("each documented event was there", known - seen <= {"note", "warning"}, (sorted(known), sorted(seen)))
    finish()


main()
