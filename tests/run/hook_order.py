#!/usr/bin/env python3
"""All hooks of a whole run in their order, as docs/language/callbacks.md gives it: with rounds by epochs, by steps and by parts of an epoch, with
accumulation, with two optimizers, where steps end training in mid-epoch, and on both back ends.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import SOURCE, build, check, finish, fit, newest, run, scratch

HOOKS = [name for name in re.findall(r"^LTR_HOOK\((\w+)", (SOURCE / "runtime/tables/hooks.def").read_text(), re.M)]
# What two optimizers move is told by name.
OF_UPDATES = ("before_backward", "after_backward", "before_step", "after_step")

PROGRAM = """ltr 1
data Points() {
  batch[B] { x: float[B, 3], y: float[B, 1] }
  fn point(s: {i: int}) -> {x: float[3], y: float[1]} = (x = full(3, 0.1 * s.i), y = full(1, 0.2 * s.i))
  train = synthetic(20, point) |> collate(4)
  val = synthetic(8, point) |> collate(4)
  test = synthetic(4, point) |> collate(4)
  predict = synthetic(4, point) |> collate(4)
}
model One() {
  net = Linear(3, 1)
  optimizer opt = SGD(net.weights, lr = 0.01)
  step train[B](x: float[B, 3], y: float[B, 1]) { minimize mean((net(x) - y) ** 2) }
  step val[B](x: float[B, 3], y: float[B, 1]) { log loss = mean((net(x) - y) ** 2) }
  step test[B](x: float[B, 3], y: float[B, 1]) { log loss = mean((net(x) - y) ** 2) }
  step predict[B](x: float[B, 3]) -> float[B, 1] = net(x)
}
model Two() {
  a = Linear(3, 1)
  b = Linear(3, 1)
  optimizer first = SGD(a.weights, lr = 0.01)
  optimizer second = SGD(b.weights, lr = 0.01)
  step train[B](x: float[B, 3], y: float[B, 1]) {
    minimize mean((a(x) - y) ** 2) with first
    minimize mean((b(x) - y) ** 2) with second
  }
  step val[B](x: float[B, 3], y: float[B, 1]) { log loss = mean((a(x) + b(x) - y) ** 2) }
}
callback Heard {
HEARD
}
# What is over is not ended again.
callback Late { on train_epoch_end { if epoch == 0 { end_epoch("over") } } }
callback Steps { on train_epoch_end { print "steps {global_step}" } }
experiment late { data = Points(), model = One(), trainer { epochs = 3 }, callbacks { Late(), Steps() } }
experiment one { data = Points(), model = One(), trainer { epochs = 2 }, callbacks { Heard(), Checkpoint(every = 1 epochs) } }
experiment two { data = Points(), model = Two(), trainer { epochs = 2 }, callbacks { Heard(), Checkpoint(every = 1 epochs) } }
"""


def round_of(role, batches):
    return [f"{role}_epoch_start", *[f"{role}_batch_start", f"{role}_batch_end"] * batches, f"{role}_epoch_end"]


def wanted(epochs=2, accumulate=1, optimizers=("opt",), rounds=lambda step, ends: ends, steps=None):
    """What a fit does with five batches an epoch; `rounds` says after which steps one of two batches is due, `ends` that an epoch does there."""
    out = ["run_start", "fit_start", "sanity_start", "sanity_end", "train_start"]
    step = 0
    for _ in range(epochs):
        out.append("train_epoch_start")
        for batch in range(5):
            is_last = (batch + 1) % accumulate == 0 or batch == 4
            out.append("train_batch_start")
            for name in optimizers:
                out += [f"before_backward {name}", f"after_backward {name}"]
                out += [f"before_step {name}", f"after_step {name}"] if is_last else []
            out.append("train_batch_end")
            step += is_last
            if is_last and rounds(step, batch == 4):
                out += round_of("val", 2)
            if step == steps:
                break
        if step == steps:
            # Saved as it stands in the epoch, so that a run of more steps goes on from there; then the epoch is over, too.
            return out + ["checkpoint_save", *round_of("val", 2), "train_epoch_end", "train_end", "fit_end", "run_end"]
        out += ["train_epoch_end", "checkpoint_save"]
    # A planned end has a round.
    return out + (round_of("val", 2) if not rounds(step, batch == 4) else []) + ["train_end", "fit_end", "run_end"]


def heard(result):
    return re.findall(r"^hook (.*)$", result.stdout, re.M)


with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "order.ltr").write_text(PROGRAM.replace("HEARD", "\n".join(
        f'  on {name} {{ print "hook {name}{" {optimizer.name}" if name in OF_UPDATES else ""}" }}' for name in HOOKS)))
    program = build(folder / "order.ltr", folder)

    def compare(title, wanted_, experiment, *options):
        result = run(program, "fit", experiment, "--no-bar", "--threads", 1, "--out", folder / title.replace(" ", "-"), *options)
        got = heard(result)
        place = next((i for i, (a, b) in enumerate(zip(got, wanted_)) if a != b), min(len(got), len(wanted_)))
        check(title, result.returncode == 0 and got == wanted_, (place, "got", got[max(place - 4, 0):place + 14], "wanted", wanted_[max(place - 4, 0):place + 14], result.stderr[-500:]))

    for backend in ("native", "torch"):
        on = ("--backend", backend)
        compare(f"{backend} rounds by epochs", wanted(), "one", *on)
        compare(f"{backend} rounds by steps", wanted(rounds=lambda step, _: step % 3 == 0), "one", "--set", "trainer.val_every=3 steps", *on)
        compare(f"{backend} rounds by parts of an epoch", wanted(rounds=lambda step, ends: ends or step % 5 == 3), "one", "--set", "trainer.val_every=0.5 epochs", *on)
        compare(f"{backend} accumulation with a shorter last window", wanted(accumulate=2), "one", "--set", "trainer.accumulate=2", *on)
        compare(f"{backend} two optimizers", wanted(optimizers=("first", "second")), "two", *on)
        compare(f"{backend} two optimizers with accumulation", wanted(optimizers=("first", "second"), accumulate=2), "two", "--set", "trainer.accumulate=2", *on)
        compare(f"{backend} steps end it in mid-epoch", wanted(steps=7), "one", "--steps", 7, *on)

    result = run(program, "fit", "late", "--no-bar", "--threads", 1, "--out", folder / "late")
    check("an epoch that is over is not ended again", re.findall(r"^steps (\d+)$", result.stdout, re.M) == ["5", "10", "15"], (result.stdout, result.stderr))

    runs = folder / "native-rounds-by-epochs"
    result = run(program, "fit", "one", "--no-bar", "--threads", 1, "--out", runs, "--resume", newest(runs), "--epochs", 3)
    check("what goes on reads its checkpoint in place of a sanity round", result.returncode == 0 and heard(result) == ["run_start", "fit_start", "checkpoint_load", "train_start"] + wanted(epochs=1)[5:], (heard(result), result.stderr))
    for verb, role in (("validate", "val"), ("test", "test"), ("predict", "predict")):
        result = run(program, verb, "one", "--threads", 1, "--out", runs)
        told = [one for one in heard(result) if one != "checkpoint_load"]
        check(f"{verb} has its own", result.returncode == 0 and told == ["run_start", *round_of(role, 2 if role == "val" else 1), "run_end"], (heard(result), result.text))
finish()
