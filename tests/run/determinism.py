#!/usr/bin/env python3
"""Same program, data and seed give the same bytes, whatever the workers, stops and resumes (docs: runs, determinism).

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, build, check, finish, fit, interrupt, newest, result_of, scratch


def bytes_of(program, folder, *options):
    result = fit(program, folder, *options)
    if not check(f"{folder.name}: fit {' '.join(map(str, options))} exits 0", result.returncode == 0, result.text):
        finish()
    return result_of(newest(folder))


def same(title, one, other):
    check(f"{title}: metrics.csv", one[0] == other[0], f"{one[0].decode()}\n{other[0].decode()}")
    check(f"{title}: weights.safetensors", one[1] == other[1])


def repeats(name, program, folder, options):
    """Twice the same command, and any number of workers; returns the bytes."""
    whole = bytes_of(program, folder / f"{name}-first", *options)
    same(f"{name} twice", whole, bytes_of(program, folder / f"{name}-second", *options))
    for workers in (0, 1, 4):
        again = bytes_of(program, folder / f"{name}-workers{workers}", *options, "--workers", workers)
        same(f"{name} with {workers} workers", whole, again)
    other = bytes_of(program, folder / f"{name}-seed", *options, "--seed", 5)
    check(f"{name} with another seed differs", other[1] != whole[1])
    return whole


def resumes_at_border(name, program, folder, options, steps):
    """A planned end at a border of epochs, then the rest: every byte is as without the end.

    The last step of a run is always recorded, so `steps` is made one that is recorded anyway.
    """
    options = (*options, "--set", f"trainer.log_every={steps}")
    runs = folder / f"{name}-border"
    whole = bytes_of(program, folder / f"{name}-no-border", *options)
    bytes_of(program, runs, *options, "--steps", steps)
    same(f"{name} stopped at step {steps}, an epoch's end", whole, bytes_of(program, runs, *options, "--resume", "last"))


def resumes_inside(name, program, folder, options, steps, whole):
    """A planned end within an epoch adds a round of its own, so only the weights must be equal."""
    runs = folder / f"{name}-inside"
    bytes_of(program, runs, *options, "--steps", steps)
    again = bytes_of(program, runs, *options, "--resume", "last")
    check(f"{name} stopped at step {steps}, within an epoch: weights.safetensors", again[1] == whole[1],
          f"{again[0].decode()}\n{whole[0].decode()}")


def resumes_after_signal(name, program, folder, options, at_step, number, code, whole):
    """A signal anywhere leaves no trace after the resume, also with other workers."""
    runs = folder / f"{name}-{number.name}"
    exit_code, text = interrupt(program, runs, at_step, number, *options)
    check(f"{name}: {number.name} exits {code}", exit_code == code, f"{exit_code}\n{text}")
    if exit_code != code:
        return
    run_folder = newest(runs)
    stopped = result_of(run_folder)
    check(f"{name}: {number.name} stopped before the end", stopped[1] != whole[1])
    again = bytes_of(program, runs, "--set", "trainer.log_every=1", *options, "--resume", "last", "--workers", 3)
    check(f"{name}: the same run folder goes on", newest(runs) == run_folder)
    same(f"{name} resumed after {number.name}", whole, again)


DRAWN = """ltr 1

data Drawn() {
  batch[B] { x: float[B] }
  fn point(i: int) -> {x: float} = (x = rand().item())
  let all = synthetic(8, point)
  train = synthetic(8, point) |> collate(8)
  val.same = synthetic(8, point) |> collate(8)
  val.more = synthetic(8, point) |> collate(8)
  test = all |> collate(8)
}

model Seen() {
  weight w: float[1] = zeros(1)
  optimizer opt = SGD(w, lr = 0.1)
  step train[B](x: float[B]) {
    minimize mse(w.sum() + 0 * x, x)
    print "train {epoch} {x:.6}"
  }
  step val[B](x: float[B]) { print "val {x:.6}" }
}

experiment e { data = Drawn(), model = Seen(), trainer { epochs = 2 }, callbacks { StopOnSignal() } }
"""


def drawn_by_stream(folder):
    """What a map draws is of its stream alone, and the same in each round and run."""
    source = folder / "drawn.ltr"
    source.write_text(DRAWN)
    program = build(source, folder)
    texts = [fit(program, folder / f"drawn-{workers}", "--workers", workers).stdout for workers in (0, 2)]
    lines = [re.findall(r"^(train \d|val) (.*)$", text, re.M) for text in texts]
    check("drawn: two runs see the same", lines[0] == lines[1] and len(lines[0]) >= 6, texts[0])
    seen = {}
    for name, values in lines[0]:
        seen.setdefault(name, []).append(values)
    same_first = seen.get("val", [])[:2]
    check("drawn: streams of one function have records of their own", len(set(same_first + seen.get("train 0", []))) == 3, texts[0])
    check("drawn: rounds see the same", seen.get("val", [])[-2:] == same_first, texts[0])


with scratch() as place:
    folder = pathlib.Path(place)
    drawn_by_stream(folder)
    iris = build(EXAMPLES / "iris.ltr", folder)
    mnist = build(EXAMPLES / "mnist.ltr", folder)

    iris_options = ("--epochs", 6)                                            # 8 steps an epoch
    whole = repeats("iris", iris, folder, iris_options)
    resumes_at_border("iris", iris, folder, iris_options, 16)
    resumes_inside("iris", iris, folder, iris_options, 19, whole)

    # 12 steps an epoch; stops lie within the 20 steps of warm-up, where the rate does not ask how long the run is.
    mnist_options = ("--epochs", 2, "--limit-train", 12, "--limit-val", 2)
    whole = repeats("mnist", mnist, folder, mnist_options)
    resumes_at_border("mnist", mnist, folder, mnist_options, 12)
    resumes_inside("mnist", mnist, folder, mnist_options, 7, whole)

    every = bytes_of(mnist, folder / "mnist-every", "--set", "trainer.log_every=1", *mnist_options)
    check("mnist: weights do not depend on log_every", every[1] == whole[1])
    resumes_after_signal("mnist", mnist, folder, mnist_options, 4, signal.SIGINT, 130, every)
    resumes_after_signal("mnist", mnist, folder, mnist_options, 14, signal.SIGTERM, 75, every)
finish()
