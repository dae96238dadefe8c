#!/usr/bin/env python3
"""Trains what the corpus accepts: a few steps of each program, on batches made from its types. Says which steps run planned and which op by
op; all of them by hand, since that builds a hundred programs (`--jobs`, `--only`).

    python3 tests/corpus/train.py --ltrc build/release/bin/ltrc [--only 'accepted/gan*'] [--jobs 2] [--few]

Fails where a program does not run, and where fewer than nine in ten run planned; of `--few`, which ctest runs, all have to.
"""
import argparse
import concurrent.futures
import fnmatch
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STEPS, LEAST_PLANNED = 3, 0.9
# One of each kind: what they have in steps, layers and losses is in many others.
FEW = ("cnn_accumulate", "distill", "forecast_gru", "gan", "gpt", "recommender_bpr", "unet", "vae")


def trains(path):
    text = path.read_text(errors="replace")
    return re.search(r"^\s*step train\b", text, re.M) is not None and re.search(r"^experiment\b", text, re.M) is not None


def train(ltrc, path, folder):
    """(what failed or None, the notes of steps that run op by op)"""
    program = pathlib.Path(folder) / "-".join(path.relative_to(HERE).with_suffix("").parts)
    built = subprocess.run([ltrc, "build", path, "-o", program], capture_output=True, text=True, cwd=path.parent, timeout=600)
    if built.returncode != 0:
        return f"build: exit {built.returncode}\n{built.stderr[-1500:]}", []
    experiments = re.findall(r"^experiment (\w+)", path.read_text(errors="replace"), re.M)
    named = experiments[:1] if len(experiments) > 1 else []
    done = subprocess.run([program, "fit", *named, "--mock-data", "--steps", str(STEPS), "--no-bar", "--threads", "1", "--out", f"{program}-runs"],
                          capture_output=True, text=True, cwd=path.parent, timeout=600, stdin=subprocess.DEVNULL)
    text = done.stdout + done.stderr
    program.unlink()
    if done.returncode != 0:
        return f"fit: exit {done.returncode}\n{text[-1500:]}", []
    return None, re.findall(r"^.*(?: runs op by op: | run op by op \().*$", text, re.M)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--ltrc", type=lambda path: str(pathlib.Path(path).resolve()), required=True)
    options.add_argument("--only", default="*")
    options.add_argument("--few", action="store_true", help="a fixed few, all of which run planned")
    options.add_argument("--jobs", type=int, default=2)
    given = options.parse_args()
    programs = [path for path in sorted((HERE / "accepted").rglob("*.ltr"))
                if fnmatch.fnmatch(str(path.relative_to(HERE)), given.only) and trains(path) and (not given.few or path.stem in FEW)]
    failed, op_by_op = [], []
    with tempfile.TemporaryDirectory(prefix="ltr-corpus-") as folder, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for path, (failure, notes) in zip(programs, pool.map(lambda one: train(given.ltrc, one, folder), programs)):
            name = path.relative_to(HERE)
            print(f"{'FAIL' if failure else 'ok  '} {name}" + "".join(f"\n       {note.strip()}" for note in notes), flush=True)
            if failure:
                print("       " + failure.strip().replace("\n", "\n       "), flush=True)
                failed.append(name)
            elif notes:
                op_by_op.append(name)
    planned = len(programs) - len(failed) - len(op_by_op)
    print(f"{len(programs)} programs: {planned} planned, {len(op_by_op)} with a step op by op, {len(failed)} failed")
    least = len(FEW) if given.few else LEAST_PLANNED * len(programs)
    sys.exit(1 if failed or not programs or planned < least else 0)


if __name__ == "__main__":
    main()
