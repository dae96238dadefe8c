#!/usr/bin/env python3
"""What a program says to type works as it stands: the command that tests a run, wherever it lies and whatever it was given.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, LTRC, build, check, finish, run, scratch

PROGRAM = """ltr 1
hparam width: int = 2
hparam title: str = "a b"
data Points() {
  batch[B] { x: float[B, 2] }
  fn point(s: {i: int}) -> {x: float[2]} = (x = full(2, 0.1 * s.i))
  train = synthetic(8, point) |> shuffle(1) |> collate(2)
  test = range(4) |> map(point) |> collate(2)
}
model Net(width: int) {
  net = Linear(2, width)
  optimizer opt = SGD(net.weights, lr = 0.1)
  step train[B](x: float[B, 2]) { minimize mean(net(x) ** 2) }
  step test[B](x: float[B, 2]) { log level = mean(net(x)) }
}
experiment one { data = Points()
  model = Net(width)
  trainer { epochs = 1 } }
experiment two amends one { tags { kind = "two" } }
"""
FLAGS = ("--width", 5, "--title", "it's odd", "--set", "topology.threads=1", "--epochs", 1, "--no-bar")


def follows(title, started, folder):
    """The command behind `test it:` is what a shell runs."""
    if not check(f"{title}: the run is trained and names the command", "test it:  " in started.text, started.text):
        return
    command = started.text.split("test it:  ")[1].splitlines()[0]
    env = {**os.environ, "PATH": f"{LTRC.parent}:{os.environ['PATH']}"}
    result = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True)
    check(f"{title}: it tests the run", result.returncode == 0 and "level" in result.stdout,
          f"{command}\n{result.stdout}{result.stderr}")
    check(f"{title}: with what the run was given, and nothing of training",
          "--width 5" in command and "'it'\\''s odd'" in command and "--epochs" not in command, command)


with scratch() as place:
    folder = pathlib.Path(place) / "a folder"
    folder.mkdir()
    source = folder / "my program.ltr"
    source.write_text(PROGRAM)
    follows("ltrc run", run(LTRC, "run", source.name, "fit", "two", *FLAGS, cwd=folder), folder)
    follows("ltrc run --out", run(LTRC, "run", source.name, "fit", "one", *FLAGS, "--out", "other runs", cwd=folder), folder)
    build(source, folder, "a program")
    follows("a program", run("./a program", "fit", "two", *FLAGS, "--out", "third", cwd=folder), folder)

    shutil.copy(EXAMPLES / "mnist.ltr", folder)
    result = run(build(folder / "mnist.ltr", folder), "fit", "--no-bar", cwd=folder)
    check("missing files: where they are wanted, and the command that brings them there",
          result.returncode == 3 and "looked for: data/mnist-5k" in result.text and "`ltrc data get mnist --to data/mnist-5k`" in result.text, result.text)
finish()
