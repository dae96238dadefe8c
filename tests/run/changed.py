#!/usr/bin/env python3
"""A run goes on with a program that changed where what it saved fits, and says what differs; where it does not, it is refused by
name, before anything of the run is touched."""
import dataclasses
import hashlib
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, newest, scratch
from points import model, source

EXPERIMENT = """experiment changed { data = Points()
  model = Net()
  trainer { epochs = 2 }
  loggers { Csv() } }
"""
NET = "[Linear(3, 4), relu, Linear(4, 1)]"
ADAM = "opt = Adam(net.weights, lr = 0.01)"
AMSGRAD = "opt = Adam(net.weights, lr = 0.01, amsgrad = true)"
MOMENTUM = "opt = SGD(net.weights, lr = 0.01, momentum = 0.9)"
# An epoch is open behind step 6, and what this has counted is in the checkpoint.
INSIDE = ("--steps", 6)


def counting(classes):
    """A metric of so many classes."""
    return {"members": f"  seen = Accuracy({classes})\n",
            "more": f"    log seen = seen(zeros(B, {classes}), zeros(B).to(i64)) on epoch\n"}


@dataclasses.dataclass
class Change:
    """A program that a run goes on with, or does not, and what is said; the run had `before`, and began with `options`."""
    said: list
    net: str = NET
    optimizer: str = ADAM
    more: dict = dataclasses.field(default_factory=dict)
    before: dict = dataclasses.field(default_factory=lambda: {"optimizer": ADAM})
    options: tuple = ()

    def now(self):
        return {"net": self.net, "optimizer": self.optimizer, **self.more}


REFUSED = {
    "a layer more": Change(["missing net.3.weight, net.3.bias", "skip"], "[Linear(3, 4), relu, Linear(4, 1), Linear(1, 1)]"),
    "a layer less": Change(["missing net.weight, net.bias", "unexpected net.0.bias, net.0.weight, net.2.bias, net.2.weight"], "Linear(3, 1)"),
    "another shape": Change(["differing net.0.weight is f32[4, 3] there, f32[5, 3] here", "net.2.weight is f32[1, 4] there, f32[1, 5] here"],
                            "[Linear(3, 5), relu, Linear(5, 1)]"),
    "another rule": Change(["the optimizer opt is Adam in the checkpoint and SGD here", "fit --weights"], optimizer="opt = SGD(net.weights, lr = 0.01)"),
    "more to keep": Change(["the optimizer opt keeps max_exp_avg_sq of net.0.weight here"], optimizer=AMSGRAD),
    "a metric of another shape": Change(["the metric seen keeps ", "[4] here, and as i64[3] in the checkpoint", "an epoch's end"],
                                        more=counting(4), before={"optimizer": ADAM, **counting(3)}, options=INSIDE),
}
GOES_ON = {
    "a metric more": Change(["train.seen was not logged in the part of the epoch that is over: its value is of the rest of it"],
                            more=counting(3), options=INSIDE),
    "another function": Change([], "[Linear(3, 4), tanh, Linear(4, 1)]"),
    "another name of the optimizer": Change(["the program has no optimizer opt any more; what it kept is dropped",
                                             "the checkpoint has no optimizer other; it begins anew"], optimizer="other = Adam(net.weights, lr = 0.01)"),
    "another rate": Change([], optimizer="opt = Adam(net.weights, lr = 0.02)"),
    "no momentum any more": Change(["the optimizer opt has no place any more for momentum_buffer of net.0.bias, net.0.weight, net.2.bias, net.2.weight; "
                                    "what the checkpoint has of that is dropped"],
                                   optimizer="opt = SGD(net.weights, lr = 0.01)", before={"optimizer": MOMENTUM}),
    "no amsgrad any more": Change(["the optimizer opt has no place any more for max_exp_avg_sq of net.0.bias"], before={"optimizer": AMSGRAD}),
    "a metric of another shape behind its epoch": Change([], more=counting(4), before={"optimizer": ADAM, **counting(3)}),
}
# A run that goes on for longer under one schedule, and whether its rates were others had it been as long from the start.
LONGER = {
    "a rate that falls over the whole": ("cosine()", True),
    "a rate that falls by the epoch": ("step(every = 1 epoch, gamma = 0.5)", False),
    "a rate that falls over so many updates": ("cosine(total = 20 steps)", False),
    "a schedule that counts on the whole": ("to_zero", True),
    "a schedule that does not": ("halved", False),
}
SCHEDULES = """fn to_zero(step: int, total: int) -> float = 1.0 - 1.0 * step / total
fn halved(step: int, total: int) -> float = 0.5 ** floor(step / 4)
"""


def program(folder, name, callbacks="", **parts):
    place = folder / name.replace(" ", "-")
    place.mkdir()
    experiment = EXPERIMENT.replace("  loggers", f"  callbacks {{ {callbacks} }}\n  loggers" if callbacks else "  loggers")
    (place / "changed.ltr").write_text(source(model(**{"net": NET, **parts}), SCHEDULES + experiment))
    return build(place / "changed.ltr", place)


def files(run):
    """{file: digest}, but for what every start leaves: its lock and what the terminal said."""
    return {str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in run.rglob("*") if path.is_file() and path.name not in ("lock", "log-0.txt")}


class Runs:
    """Runs of the programs of before, each made once."""

    def __init__(self, folder):
        self.folder = folder
        self.made = {}

    def copy(self, change, name):
        """The folder of one that `change` may go on with."""
        key = (str(change.before), change.options)
        if key not in self.made:
            self.made[key] = self.folder / f"runs-{len(self.made)}"
            result = fit(program(self.folder, f"before {len(self.made)}", **change.before), self.made[key], *change.options)
            check("a run", result.returncode == 0, result.text)
        copy = self.folder / "copies" / name.replace(" ", "-")
        shutil.copytree(self.made[key], copy, symlinks=True)
        return copy


with scratch() as name:
    folder = pathlib.Path(name)
    made = Runs(folder)
    for title, change in REFUSED.items():
        runs = made.copy(change, title)
        before = files(newest(runs))
        result = fit(program(folder, title, **change.now()), runs, "--resume", "last", "--epochs", 3)
        check(f"{title} is refused", result.returncode == 2 and "error[R2010]" in result.stderr, result.text)
        check(f"{title}: what differs is named", all(text in result.stderr for text in change.said), result.text)
        check(f"{title}: the run is as it was", files(newest(runs)) == before, result.text)
    for title, change in GOES_ON.items():
        runs = made.copy(change, title)
        changed = program(folder, title, **change.now())
        result = fit(changed, runs, "--resume", "last", "--epochs", 3, "--strict-resume")
        check(f"{title} is refused by --strict-resume", result.returncode == 2 and "not bit for bit" in result.stderr, result.text)
        result = fit(changed, runs, "--resume", "last", "--epochs", 3)
        said = ["continues, not bit for bit: program:", *change.said]
        check(f"{title} goes on, and what differs is said once", result.returncode == 0
              and all(result.stderr.count(text) == 1 for text in said), result.text)
        check(f"{title}: nothing else is dropped", change.said or "dropped" not in result.stderr, result.text)
        check(f"{title}: behind the steps that were done", (newest(runs) / "checkpoints/step0000012").is_dir(), result.text)
    for title, optimizer in (("a comment", f"{ADAM}  # as it was"), ("a Histograms and another name of the optimizer", "other = Adam(net.weights, lr = 0.01)")):
        callbacks = {"callbacks": "Histograms(every = 1 epoch)"} if "Histograms" in title else {}
        runs = made.copy(Change([], before={"optimizer": ADAM, **callbacks}), title)
        result = fit(program(folder, title, optimizer=optimizer, **callbacks), runs, "--resume", "last", "--epochs", 3,
                     *([] if callbacks else ["--strict-resume"]))
        check(f"{title} goes on", result.returncode == 0 and ("not bit for bit" in result.stderr) == bool(callbacks), result.text)
    for title, (schedule, is_told) in LONGER.items():
        same = {"optimizer": f"{ADAM} {{ schedule = {schedule} }}"}
        runs = made.copy(Change([], before=same), title)
        again = program(folder, title, **same)
        told = "continues, not bit for bit: updates, of which rates are a part: 8 → 12"
        if is_told:
            result = fit(again, runs, "--resume", "last", "--epochs", 3, "--strict-resume")
            check(f"{title}: longer is refused by --strict-resume", result.returncode == 2 and told in result.stderr, result.text)
        result = fit(again, runs, "--resume", "last", "--epochs", 3, *([] if is_told else ["--strict-resume"]))
        check(f"{title}: longer is {'told' if is_told else 'the same'}", result.returncode == 0
              and (told in result.stderr) == is_told and ("not bit for bit" in result.stderr) == is_told, result.text)
finish()
