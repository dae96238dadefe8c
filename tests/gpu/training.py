#!/usr/bin/env python3
"""Training on a GPU: close to the CPU's, equal when repeated, with any number of workers and from checkpoints of either device;
every precision; a device that is not there, and one without room. Skipped where there is no GPU.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import csv
import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "run/support"))
from harness import EXAMPLES, build, check, finish, fit, interrupt, need_gpu, newest, result_of, run, scratch

need_gpu()

# A tensor as large as `rows` says.
LARGE = """ltr 1
hparam rows: int = 1
data Points() {
  batch[B] { x: float[B, 4] }
  fn point(s: {i: int}) -> {x: float[4]} = (x = full(4, 0.1 * s.i))
  train = synthetic(64, point) |> collate(8)
}
model Net(rows: int) {
  net = Linear(4, 4)
  optimizer opt = Adam(net.weights)
  step train[B](x: float[B, 4]) {
    loss = net(x).square().mean() + zeros(rows, 300_000).sum()
    minimize loss
    log loss
  }
}
experiment large { data = Points(), model = Net(rows), trainer { epochs = 1 } }
"""

# The gradient of a bilinear resize has no deterministic kernel on CUDA.
RESIZED = """ltr 1
data Images() {
  batch[B] { x: float[B, 1, 4, 4] }
  fn image(s: {i: int}) -> {x: float[1, 4, 4]} = (x = full(1, 4, 4, 0.1 * s.i))
  train = synthetic(16, image) |> collate(8)
}
model Net() {
  net = Conv2d(1, 1, kernel = 3, padding = 1)
  optimizer opt = SGD(net.weights, lr = 0.01)
  step train[B](x: float[B, 1, 4, 4]) {
    loss = interpolate(net(x), 8, 8, mode = bilinear).square().mean()
    minimize loss
    log loss
  }
}
experiment resized { data = Images(), model = Net(), trainer { epochs = 1 } }
"""


def last(folder, name):
    rows = list(csv.DictReader((newest(folder) / "metrics.csv").open()))
    return float([row[name] for row in rows if row.get(name)][-1])


def trained(program, folder, *options, devices="cuda"):
    result = fit(program, folder, "--epochs", 5, "--devices", devices, *options)
    check(f"{folder.name}: fit {' '.join(map(str, options))}", result.returncode == 0, result.text)
    return last(folder, "val/loss"), result_of(newest(folder))


def written(folder, name, text):
    (folder / f"{name}.ltr").write_text(text)
    return build(folder / f"{name}.ltr", folder)


def facts(program, folder):
    describe = run(program, "describe", "--devices", "cuda")
    check("the GPU is named", "· cuda:0 " in describe.text, describe.text)
    check("auto is the GPU", "· cuda:0 " in run(program, "describe", "--devices", "auto").text)
    result = fit(program, folder / "facts", "--epochs", 1, "--devices", "cuda")
    check("the report says what it took", "memory of cuda:0 " in result.text and "at most of" in result.text, result.text)
    about = json.loads((newest(folder / "facts") / "run.json").read_text())
    check("run.json names the device and its libraries", "cuda:0" in json.dumps(about)
          and {"cuda", "cudnn", "nccl"} <= about["toolchain"].keys(), json.dumps(about)[:2000])
    # There is at most one GPU more than any machine has.
    many = run(program, "describe", "--devices", "cuda[1000]")
    check("devices that are not there: R2008", many.returncode == 2 and "error[R2008]" in many.text, many.text)
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    hidden = run(program, "describe", "--devices", "cuda")
    check("hidden devices: R2008 with the variable", hidden.returncode == 2 and "error[R2008]" in hidden.text
          and "CUDA_VISIBLE_DEVICES" in hidden.text, hidden.text)
    check("auto is the CPU then", "· cpu, " in run(program, "describe", "--devices", "auto").text)
    del os.environ["CUDA_VISIBLE_DEVICES"]


def equal_bits(program, folder):
    on_cpu, bits_on_cpu = trained(program, folder / "cpu", devices="cpu")
    on_gpu, first = trained(program, folder / "gpu")
    check("the loss is close to the CPU's", abs(on_gpu - on_cpu) < 1e-3 * abs(on_cpu), f"{on_gpu} and {on_cpu}")
    check("and was not computed there", first[1] != bits_on_cpu[1])
    for name, options in (("again", ()), ("workers0", ("--workers", 0)), ("workers4", ("--workers", 4)),
                          ("ahead1", ("--set", "trainer.host_ahead=1")), ("ahead8", ("--set", "trainer.host_ahead=8"))):
        _, other = trained(program, folder / name, *options)
        check(f"{name}: equal bytes", other == first)
    return on_cpu, first


def unwatched(program, folder, whole):
    """Nothing holds an update back: the same weights, and a run without a folder."""
    _, other = trained(program, folder / "unwatched", "--set", "trainer.nan=raise")
    check("nan = raise: equal weights", other[1] == whole[1])
    result = run(program, "fit", "--bare", "--devices", "cuda", "--steps", 20)
    check("--bare trains", result.returncode == 0, result.text)


def resumes(program, folder, whole):
    code, text = interrupt(program, folder / "stopped", 7, signal.SIGTERM, "--epochs", 5, "--devices", "cuda")
    check("a stop is asked for", code in (0, 75), text)
    check("and comes before the end", result_of(newest(folder / "stopped"))[1] != whole[1])
    trained(program, folder / "stopped", "--resume", "auto")
    check("the run goes on, and ends as the one that was not stopped", result_of(newest(folder / "stopped"))[1] == whole[1])
    for here, there in (("cpu", "cuda"), ("cuda", "cpu")):
        runs = folder / f"{here}-then-{there}"
        fit(program, runs, "--epochs", 2, "--devices", here)
        loss, _ = trained(program, runs, "--resume", "last", devices=there)
        check(f"a checkpoint of {here} goes on on {there}", abs(loss - last(folder / "cpu", "val/loss")) < 1e-2, loss)


def finders(program, folder):
    result = fit(program, folder / "rate", "--devices", "cuda", "--find-lr")
    check("--find-lr finds a rate", result.returncode == 0 and "--lr" in result.text, result.text)
    result = fit(program, folder / "batch", "--devices", "cuda", "--find-batch")
    check("--find-batch looks on the device", result.returncode == 0 and "use it:" in result.text, result.text)


def precisions(program, folder, on_cpu):
    for precision in ("tf32", "bf16", "f16", "bf16_pure", "f64"):
        setting = ("--set", f"topology.precision={precision}")
        loss, first = trained(program, folder / precision, *setting)
        check(f"{precision} learns", abs(loss - on_cpu) < 0.1, f"{loss} and {on_cpu}")
        _, second = trained(program, folder / f"{precision}-again", *setting)
        check(f"{precision}: equal runs give equal bytes", first == second)


def refusals(folder):
    program = written(folder, "large", LARGE)
    result = fit(program, folder / "large-runs", "--devices", "cuda", "--rows", 1_000_000)
    check("a device without room is R1001", result.returncode == 1 and "error[R1001]" in result.text
          and "a tensor of 1117.59 GiB was asked for" in result.text and "large.ltr:12" in result.text, result.text)
    check("it says in which step, and who holds what", "step 1, batch of 8" in result.text and "activations and workspaces" in result.text, result.text)
    program = written(folder, "resized", RESIZED)
    result = fit(program, folder / "resized-runs", "--devices", "cuda")
    check("an op without a deterministic form is R1008", result.returncode == 1 and "error[R1008]" in result.text
          and "upsample_bilinear2d_backward" in result.text and "resized.ltr:" in result.text, result.text)
    result = fit(program, folder / "warned", "--devices", "cuda", "--set", "trainer.deterministic=warn")
    check("warn names it once and goes on", result.returncode == 0
          and result.text.count("has no deterministic form") == 1, result.text)
    result = fit(program, folder / "silent", "--devices", "cuda", "--set", "trainer.deterministic=false")
    check("false says nothing", result.returncode == 0 and "deterministic" not in result.text, result.text)
    result = fit(program, folder / "benchmark", "--devices", "cuda", "--set", "trainer.deterministic=false",
                 "--set", "trainer.benchmark=true")
    check("algorithms are chosen by timing", result.returncode == 0, result.text)


with scratch() as place:
    folder = pathlib.Path(place)
    iris = build(EXAMPLES / "iris.ltr", folder)
    facts(iris, folder)
    on_cpu, whole = equal_bits(iris, folder)
    unwatched(iris, folder, whole)
    resumes(iris, folder, whole)
    finders(iris, folder)
    precisions(iris, folder, on_cpu)
    refusals(folder)
finish()
