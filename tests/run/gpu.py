#!/usr/bin/env python3
"""Training on a GPU: close to the CPU's, equal when repeated, stopped and gone on with; skipped where there is none.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import csv
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, LTRC, build, check, finish, fit, interrupt, newest, result_of, run, scratch

if not pathlib.Path("/dev/nvidiactl").exists() or not (LTRC.parent.parent / "lib/ltr/libltr_runtime_cuda.so").exists():
    print("skip: there is no GPU, or the runtime was built without CUDA")
    sys.exit(77)


def last(folder, name):
    rows = list(csv.DictReader((newest(folder) / "metrics.csv").open()))
    return float([row[name] for row in rows if row.get(name)][-1])


def trained(program, folder, *options):
    result = fit(program, folder, "--epochs", 5, *options)
    check(f"fit {' '.join(map(str, options))}", result.returncode == 0, result.text)
    return last(folder, "val/loss"), result_of(newest(folder))


with scratch() as place:
    folder = pathlib.Path(place)
    program = build(EXAMPLES / "iris.ltr", folder)
    describe = run(program, "describe", "--devices", "cuda")
    check("the GPU is named", "· cuda:0 " in describe.text, describe.text)
    on_cpu, _ = trained(program, folder / "cpu", "--devices", "cpu")
    on_gpu, first = trained(program, folder / "gpu", "--devices", "cuda")
    check("the loss is close to the CPU's", abs(on_gpu - on_cpu) < 1e-3, f"{on_gpu} and {on_cpu}")
    _, second = trained(program, folder / "again", "--devices", "cuda")
    check("equal runs give equal bytes", first == second)
    code, text = interrupt(program, folder / "stopped", 7, signal.SIGTERM, "--epochs", 5, "--devices", "cuda")
    check("a stop is asked for", code in (0, 75), text)
    result = fit(program, folder / "stopped", "--epochs", 5, "--devices", "cuda", "--resume", "auto")
    check("the run goes on", result.returncode == 0, result.text)
    check("and ends as the one that was not stopped", result_of(newest(folder / "stopped"))[1] == first[1])
    for precision in ("bf16", "f16", "f64"):
        loss, _ = trained(program, folder / precision, "--devices", "cuda", "--set", f"topology.precision={precision}")
        check(f"{precision} learns", abs(loss - on_cpu) < 0.1, f"{loss} and {on_cpu}")
    huge = fit(program, folder / "huge", "--devices", "cuda", "--hidden", 3_000_000_000)
    check("a device without room is R1001", huge.returncode == 1 and "error[R1001]" in huge.text, huge.text)
finish()
