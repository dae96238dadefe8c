#!/usr/bin/env python3
"""`Wandb()` writes the offline folder of Weights & Biases: its log is whole, record by record, has every recorded value, the settings and how the
run ended, and a resumed run writes on in it.

The file is read by what its format says, with Python's standard library alone.
"""
import csv
import json
import pathlib
import struct
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, newest, run, scratch
from points import model, source

EXPERIMENT = """
experiment followed {
  data    = Points()
  model   = Net()
  trainer { epochs = 2, seed = 1, log_every = 1 }
  callbacks { Checkpoint(every = 1 epochs) }
  loggers { Csv(), Wandb(project = "plants", entity = "we"), Jsonl() }
  tags { kind = "ü" }
}
"""
BLOCK, HEAD = 32768, 7
FIELDS = {2: "history", 3: "summary", 4: "output", 17: "run", 18: "exit", 20: "final", 21: "header", 22: "footer"}


def records(path):
    """The records of a log, each joined of its parts; a part that its sum does not fit ends it."""
    data, at, found, begun = path.read_bytes(), HEAD, [], b""
    assert data[:4] == b":W&B" and struct.unpack("<H", data[4:6])[0] == 0xBEE1, data[:7]
    while at < len(data):
        left = BLOCK - at % BLOCK
        if left < HEAD:
            at += left
            continue
        total, size, kind = struct.unpack("<IHB", data[at:at + 7])
        part = data[at + 7:at + 7 + size]
        assert zlib.crc32(data[at + 6:at + 7 + size]) == total and size + 7 <= left, at
        begun += part
        if kind in (1, 4):
            found.append(begun)
            begun = b""
        at += 7 + size
    return found


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(message):
    """(number, value) of a message: numbers and bytes."""
    at, found = 0, []
    while at < len(message):
        tag, at = varint(message, at)
        if tag & 7 == 0:
            value, at = varint(message, at)
        elif tag & 7 == 2:
            size, at = varint(message, at)
            value, at = message[at:at + size], at + size
        else:
            width = 8 if tag & 7 == 1 else 4
            value, at = message[at:at + width], at + width
        found.append((tag >> 3, value))
    return found


def read(path):
    """[(kind, message)], those of no kind that is looked at left out."""
    return [(FIELDS[number], value) for record in records(path) for number, value in fields(record) if number in FIELDS]


def history(log):
    """A row of values for each recorded step."""
    rows = []
    for kind, message in log:
        if kind != "history":
            continue
        items = [dict(fields(item)) for number, item in fields(message) if number == 1]
        rows.append({(item.get(1) or item.get(2) or b"").decode(): json.loads(item[16]) for item in items})
    return rows


def whole(folder, title, steps):
    found = list(folder.glob("wandb/offline-run-*/run-*.wandb"))
    if not check(f"{title}: one folder, one log", len(found) == 1, found):
        return []
    log = read(found[0])
    kinds = [kind for kind, _ in log]
    check(f"{title}: a header and the run come first, then how it ended", kinds[:2] == ["header", "run"] and "exit" in kinds[-3:], kinds)
    rows = history(log)
    table = list(csv.DictReader((folder / "metrics.csv").open()))
    logged = {row["_step"]: row["train/loss"] for row in rows if "train/loss" in row}
    check(f"{title}: every loss, as Csv has it", len(logged) == steps and all(float(row["train/loss"]) == logged[int(row["step"])] for row in table if row["train/loss"]),
          (len(logged), rows[:2]))
    files = found[0].parent / "files"
    check(f"{title}: settings, summary and output beside it", all((files / name).exists() for name in ("config.yaml", "wandb-summary.json", "wandb-metadata.json"))
          and '"kind"' not in (files / "config.yaml").read_text().split("tags.kind")[0][-1:], sorted(files.iterdir()))
    check(f"{title}: the newest value", json.loads((files / "wandb-summary.json").read_text())["train/loss"] == logged[max(logged)])
    run_fields = dict(next(message for kind, message in ((kind, fields(message)) for kind, message in log) if kind == "run"))
    check(f"{title}: project and entity", b"plants" in run_fields.values() and b"we" in run_fields.values(), run_fields.keys())
    return rows


with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "followed.ltr").write_text(source(model(), EXPERIMENT))
    program = build(folder / "followed.ltr", folder)
    result = run(program, "fit", "--no-bar", "--out", folder / "runs")
    check("a run with Wandb", result.returncode == 0, result.text)
    of_run = newest(folder / "runs")
    steps = sum(1 for row in csv.DictReader((of_run / "metrics.csv").open()) if row["train/loss"])
    whole(of_run, "a run", steps)
    result = run(program, "fit", "--no-bar", "--out", folder / "runs", "--resume", "last", "--epochs", 4)
    check("it goes on", result.returncode == 0, result.text)
    whole(of_run, "resumed", 2 * steps)
    result = run(LTRC, "sync", of_run)
    check("`ltrc sync` names what uploads it", result.returncode == 0 and "wandb sync" in result.text and str(of_run) in result.text, result.text)
    result = run(LTRC, "check", folder / "wrong.ltr") if (folder / "wrong.ltr").write_text(source(model(), EXPERIMENT).replace('"plants"', '""')) else None
    check("a project without a name is refused", result.returncode == 1 and "E0319" in result.text, result.text)
finish()
