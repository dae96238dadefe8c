#!/usr/bin/env python3
"""`Wandb()` writes the offline folder of Weights & Biases: its log is whole, record by record, has every recorded value, the settings and how the
run ended, and a resumed run writes on in it, a killed one, too; a folder that cannot be written costs a warning.

The file is read by what its format says, with Python's standard library alone; and by their client, where the Python of LTR_CLIENT_PYTHON has it.
"""
import csv
import json
import math
import os
import pathlib
import signal
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, interrupt, newest, run, scratch
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
LOGGER = 'Wandb(project = "plants", entity = "we")'
LONG = "x" * 70_000
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
          and '"tags.kind"' in (files / "config.yaml").read_text(), sorted(files.iterdir()))
    check(f"{title}: the newest value", json.loads((files / "wandb-summary.json").read_text())["train/loss"] == logged[max(logged)])
    run_fields = dict(next(fields(message) for kind, message in log if kind == "run"))
    check(f"{title}: project and entity", b"plants" in run_fields.values() and b"we" in run_fields.values(), run_fields.keys())
    return rows


def ended(of_run):
    """The exit codes that the log has."""
    log = read(next(of_run.glob("wandb/offline-run-*/run-*.wandb")))
    return [dict(fields(message)).get(1, 0) for kind, message in log if kind == "exit"]


def by_client(of_run, title):
    """Their client reads the same. False where it is not installed."""
    python = os.environ.get("LTR_CLIENT_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import wandb.proto.wandb_internal_pb2"], capture_output=True, check=False).returncode != 0:
        print("skip: wandb is not installed, so its client reads nothing here")
        return False
    log = next(of_run.glob("wandb/offline-run-*/run-*.wandb"))
    inspect = [python, "-m", "wandb", "leet", "inspect", log, "--json"]
    result = run(*inspect, "--summary")
    if not check(f"{title}: their client reads it", result.returncode == 0, result.text):
        return True
    told = json.loads(result.stdout)
    check(f"{title}: its state and names", (told["state"], told["exit_code"], told["project"], told["entity"]) == ("finished", 0, "plants", "we"), {**told, "config": 0})
    check(f"{title}: its settings, one of them longer than two blocks", told["config"]["trainer.seed"] == 1 and told["config"]["tags.long"] == LONG, list(told["config"]))
    check(f"{title}: its summary, with what is no number", told["summary"]["train/odd"] == "NaN" and told["summary"]["train/high"] == "Infinity", told["summary"])
    lines = [json.loads(line) for line in run(*inspect).stdout.splitlines()]
    theirs = {one["history"]["step"]["num"]: one["history"]["item"]["train/loss"] for one in lines if one["type"] == "history" and "train/loss" in one["history"]["item"]}
    ours = {row["_step"]: row["train/loss"] for row in history(read(log)) if "train/loss" in row}
    check(f"{title}: its history", theirs == ours and len(ours) > 1, (len(theirs), len(ours)))
    return True


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
    check("it goes on, and ends with what uploads it", result.returncode == 0
          and f"upload it with:  wandb sync {next(of_run.glob('wandb/offline-run-*'))}\n" in result.stdout, result.text)
    whole(of_run, "resumed", 2 * steps)
    result = run(LTRC, "sync", of_run)
    check("`ltrc sync` names what uploads it", result.returncode == 0 and "wandb sync" in result.text and str(of_run) in result.text, result.text)

    # What is no number, a record that crosses blocks, and the client.
    text = source(model(), EXPERIMENT).replace('kind = "ü"', f'kind = "ü", long = "{LONG}"')
    (folder / "odd.ltr").write_text(text.replace("log loss\n", "log loss\n    log odd = (loss - loss) / (loss - loss)\n    log high = 1.0 / (loss - loss)\n", 1))
    odd = build(folder / "odd.ltr", folder)
    result = run(odd, "fit", "--no-bar", "--out", folder / "odd-runs")
    check("a run of what is no number", result.returncode == 0, result.text)
    of_run = newest(folder / "odd-runs")
    rows = [row for row in whole(of_run, "no number", steps) if "train/odd" in row]
    check("no number: nan and infinity are there", rows and all(math.isnan(row["train/odd"]) and row["train/high"] == math.inf for row in rows), rows[:1])
    by_client(of_run, "no number")

    # Ends of all kinds.
    for number, code in ((signal.SIGTERM, 75), (signal.SIGKILL, -9)):
        out, long = folder / f"stopped-{int(number)}", ("--epochs", 60)
        got, text = interrupt(program, out, steps * 8, number, *long)
        of_run = newest(out)
        check(f"{number.name}: how it ended", got == code and (code < 0 or ended(of_run) == [code]), (got, text[-500:]))
        result = run(program, "fit", "--no-bar", "--out", out, "--resume", "auto", *long)
        check(f"{number.name}: it goes on and ends once", result.returncode == 0 and ended(of_run) == [0], result.text)
        rows = whole(of_run, number.name, 30 * steps)
        check(f"{number.name}: each step once, in order", [row["_step"] for row in rows] == sorted({row["_step"] for row in rows}))

    # What cannot be.
    (folder / "nowhere.ltr").write_text(source(model(), EXPERIMENT).replace(LOGGER, 'Wandb(dir = "/proc/nowhere")'))
    result = run(build(folder / "nowhere.ltr", folder), "fit", "--no-bar", "--out", folder / "nowhere-runs")
    check("a folder that cannot be written is a warning", result.returncode == 0 and result.stderr.count("the logger Wandb failed") == 1 and "works again" not in result.text, result.text)
    (folder / "slash.ltr").write_text(source(model(), EXPERIMENT).replace("plants", "a/b"))
    result = run(build(folder / "slash.ltr", folder), "fit", "--no-bar", "--out", folder / "slash-runs")
    check("a project that cannot be called so is refused", result.returncode == 2 and "R2006" in result.text, result.text)
    (folder / "wrong.ltr").write_text(source(model(), EXPERIMENT).replace('"plants"', '""'))
    result = run(LTRC, "check", folder / "wrong.ltr")
    check("a project without a name is refused", result.returncode == 1 and "E0319" in result.text, result.text)
finish()
