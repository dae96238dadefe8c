"""What the tests of faults share: programs, the library that stops them, what must be equal afterwards.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "run" / "support"))
from harness import PATIENCE, build, check, finish, newest, scratch  # noqa: E402,F401

PROGRAMS = sorted((HERE / "programs").glob("*.ltr"))
TIMEOUT = 120 * PATIENCE


def build_stop(folder):
    """The library of stop.c."""
    library = pathlib.Path(folder) / "stop.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, HERE / "stop.c", "-ldl"], check=True)
    return library


class Result:
    def __init__(self, code, text):
        self.code = code
        self.text = text


def start(program, *words, env=None, limits=None):
    """Runs `program` with its JSON events in its output; the exit code of a signal is negative."""
    process = subprocess.run([str(word) for word in (program, *words)], env={**os.environ, **(env or {})},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, preexec_fn=limits)
    return Result(process.returncode, process.stdout.decode(errors="replace"))


def fit(program, runs, *words, env=None, limits=None):
    return start(program, "fit", "--json", "--threads", 1, "--out", runs, *words, env=env, limits=limits)


def journal(run):
    """{step: values} of the journal, as its readers take it, without times: a resume overtakes its step and later ones,
    for it records that step again."""
    rows = {}
    for line in (run / "log.jsonl").read_text().splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue  # the line at which the process was killed
        if record.get("event") == "resume":
            rows = {step: values for step, values in rows.items() if step < record["step"]}
        if record["kind"] == "metrics":
            rows.setdefault(record["step"], {"epoch": record["epoch"]}).update(record["values"])
    return rows


def outcome(run):
    """{what must be equal: its bytes or values} of a finished run."""
    last = run / "checkpoints/last"
    return {"metrics.csv": (run / "metrics.csv").read_bytes() if (run / "metrics.csv").exists() else b"",
            "tensors": {file.name: file.read_bytes() for file in last.glob("*.safetensors")},
            "journal": journal(run)}


def differences(whole, other):
    """What of `other` is not as in `whole`, in words."""
    found = []
    for name in whole:
        if whole[name] == other[name]:
            continue
        if name == "metrics.csv":
            old, new = whole[name].decode().splitlines(), other[name].decode().splitlines()
            rows = [f"{a!r} became {b!r}" for a, b in zip(old, new) if a != b][:3]
            found.append(f"metrics.csv ({len(old)} and {len(new)} rows): " + "; ".join(rows))
        elif name == "tensors":
            files = sorted({*whole[name], *other[name]})
            found += [file for file in files if whole[name].get(file) != other[name].get(file)]
        elif name == "journal":
            steps = [f"step {step}: {whole[name].get(step)} became {other[name].get(step)}"
                     for step in sorted({*whole[name], *other[name]}) if whole[name].get(step) != other[name].get(step)]
            found.append(f"journal: {len(steps)} steps, " + "; ".join(steps[:2]))
        else:
            found.append(name)
    return found


class Program:
    """One program, built, with the outcome of its undisturbed run and the number of its events. `options` are of every fit."""

    def __init__(self, source, folder, library, *options):
        self.name = source.stem
        self.options = options
        self.folder = folder / self.name
        self.folder.mkdir(parents=True)
        self.path = build(source, self.folder)
        self.library = library
        count = self.folder / "count"
        runs = self.folder / "whole"
        result = fit(self.path, runs, *options, env=self.env(FAULT_COUNT=count, FAULT_BELOW=self.folder))
        if not check(f"{self.name}: undisturbed", result.code == 0, result.text):
            finish()
        self.events = self.counted(count)
        self.whole = outcome(newest(runs))
        self.steps = max(self.whole["journal"])

    def counted(self, file):
        """The number of events of the undisturbed run."""
        return int(file.read_text())

    def env(self, **settings):
        return {"LD_PRELOAD": str(self.library), **{name: str(value) for name, value in settings.items()}}


def leftovers(run):
    """What killed writers left behind."""
    return [str(path.relative_to(run)) for path in run.rglob("*") if ".tmp-" in path.name]
