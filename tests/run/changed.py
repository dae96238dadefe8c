#!/usr/bin/env python3
"""A run goes on with a program that changed where what it saved fits, and says what differs; where it does not, it is refused by
name, before anything of the run is touched."""
import hashlib
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, newest, scratch

PROGRAM = """ltr 1
data Points() {
  batch[B] { x: float[B, 3], y: float[B, 1] }
  fn point(s: {i: int}) -> {x: float[3], y: float[1]} = (x = full(3, 0.1 * s.i), y = full(1, 0.2 * s.i))
  train = synthetic(16, point) |> shuffle(1) |> collate(4)
}
model Net() {
  net = NET
  optimizer OPTIMIZER
  step train[B](x: float[B, 3], y: float[B, 1]) {
    loss = mean((net(x) - y) ** 2)
    minimize loss
    log loss
  }
}
experiment changed { data = Points()
  model = Net()
  trainer { epochs = 2 }
  loggers { Csv() } }
"""
NET = "[Linear(3, 4), relu, Linear(4, 1)]"
ADAM = "opt = Adam(net.weights, lr = 0.01)"

REFUSED = {  # net, optimizer, what is said
    "a layer more": ("[Linear(3, 4), relu, Linear(4, 1), Linear(1, 1)]", ADAM, ["missing net.3.weight, net.3.bias", "skip"]),
    "a layer less": ("Linear(3, 1)", ADAM, ["missing net.weight, net.bias", "unexpected net.0.bias, net.0.weight, net.2.bias, net.2.weight"]),
    "another shape": ("[Linear(3, 5), relu, Linear(5, 1)]", ADAM,
                      ["differing net.0.weight is Float[4, 3] there, Float[5, 3] here", "net.2.weight is Float[1, 4] there, Float[1, 5] here"]),
    "another rule": (NET, "opt = SGD(net.weights, lr = 0.01)", ["the optimizer opt is Adam in the checkpoint and SGD here", "fit --weights"]),
    "more to keep": (NET, "opt = Adam(net.weights, lr = 0.01, amsgrad = true)", ["the optimizer opt keeps max_exp_avg_sq of net.0.weight here"]),
}
GOES_ON = {
    "another function": ("[Linear(3, 4), tanh, Linear(4, 1)]", ADAM, ["continues, not bit for bit: program:"]),
    "another name of the optimizer": (NET, "other = Adam(net.weights, lr = 0.01)",
                                      ["the program has no optimizer opt any more; what it kept is dropped",
                                       "the checkpoint has no optimizer other; it begins anew"]),
    "another rate": (NET, "opt = Adam(net.weights, lr = 0.02)", ["continues, not bit for bit: program:"]),
}


def program(folder, name, net, optimizer):
    place = folder / name.replace(" ", "-")
    place.mkdir()
    (place / "changed.ltr").write_text(PROGRAM.replace("NET", net).replace("OPTIMIZER", optimizer))
    return build(place / "changed.ltr", place)


def files(run):
    """{file: digest}, but for what every start leaves: its lock and what the terminal said."""
    return {str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in run.rglob("*") if path.is_file() and path.name not in ("lock", "log-0.txt")}


with scratch() as name:
    folder = pathlib.Path(name)
    result = fit(program(folder, "first", NET, ADAM), folder / "runs")
    check("a run", result.returncode == 0, result.text)
    for title, (net, optimizer, said) in REFUSED.items():
        runs = folder / "copies" / title.replace(" ", "-")
        shutil.copytree(folder / "runs", runs, symlinks=True)
        before = files(newest(runs))
        result = fit(program(folder, title, net, optimizer), runs, "--resume", "last", "--epochs", 3)
        check(f"{title} is refused", result.returncode == 2 and "error[R2010]" in result.stderr, result.text)
        check(f"{title}: what differs is named", all(text in result.stderr for text in said), result.text)
        check(f"{title}: the run is as it was", files(newest(runs)) == before, result.text)
    for title, (net, optimizer, said) in GOES_ON.items():
        runs = folder / "copies" / title.replace(" ", "-")
        shutil.copytree(folder / "runs", runs, symlinks=True)
        changed = program(folder, title, net, optimizer)
        result = fit(changed, runs, "--resume", "last", "--epochs", 3, "--strict-resume")
        check(f"{title} is refused by --strict-resume", result.returncode == 2 and "not bit for bit" in result.stderr, result.text)
        result = fit(changed, runs, "--resume", "last", "--epochs", 3)
        check(f"{title} goes on, and what differs is said once", result.returncode == 0
              and all(result.stderr.count(text) == 1 for text in said), result.text)
        check(f"{title}: behind the steps that were done", (newest(runs) / "checkpoints/step0000012").is_dir(), result.text)
finish()
