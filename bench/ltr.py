"""Ltr as the benchmarks start it. Python's standard library alone."""
import json
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
LTRC = pathlib.Path(os.environ.get("LTRC", SOURCE / "build/release/bin/ltrc")).resolve()
LIMIT_S = 600  # of one command


def words(*command):
    return [str(word) for word in command]


def answer(*command, folder=None):
    """What a command prints, in `folder`; the end of the benchmark, with its words, if it fails."""
    done = subprocess.run(words(*command), capture_output=True, text=True, timeout=LIMIT_S, cwd=folder)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words(*command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(source, folder, ltrc=LTRC):
    """The program of `source`, in `folder`."""
    program = pathlib.Path(folder).resolve() / pathlib.Path(source).stem
    answer(ltrc, "build", source, "-o", program)
    return program


def bare_fit(program, steps, *options, ranks=1):
    """The command of a fit without run folder, of `ranks` ranks with one compute thread each."""
    several = ("--nproc", ranks) if ranks > 1 else ()
    return words(program, "fit", *options, *several, "--bare", "--json", "--threads", 1, "--steps", steps)


def end_of(said):
    """The event `end` of a fit with --json: `seconds`, `exchange_s` and so on."""
    return json.loads(said.splitlines()[-1])
