#!/usr/bin/env python3
"""Values of the trainer that are more than a number: how many batches make an update by epoch and by ramp, parts of streams,
batches that count their tokens, `deterministic = warn`; from the program and from the command line.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, interrupt, newest, result_of, run, scratch

PROGRAM = """ltr 1

data Tokens() {{
  batch[B] {{ ids: i64[B, 4], y: float[B] }}
  # Rows of 1 to 3 tokens, filled up by zeros.
  fn text(row: {{i: int}}) -> {{ids: i64[4], y: float}} =
    (ids = where(arange(4) <= row.i % 3, 1, 0), y = 1.0 * row.i)
  train = range(48) |> map(text) |> collate(4)
  val = range(40) |> map(text) |> collate(4)
}}

model Line() {{
  weight w: float[4] = zeros(4)
  optimizer opt = SGD(w, lr = 1e-9)
  step train[B](ids: i64[B, 4], y: float[B]) {{
    loss = mean(ids.to(float) * w) + mean(y)
    minimize loss
    log loss on epoch
    print "{{epoch}} {{global_step}} {{batch_index}}"
  }}
  step val[B](y: float[B]) {{ log seen = mean(y) }}
}}

experiment e {{ data = Tokens(), model = Line(), trainer {{ epochs = 4, log_every = 1, {trainer} }}, loggers {{ Csv() }}{rest} }}
"""


def updates(result):
    """Of each epoch how many batches each update took."""
    found = {}
    for line in result.stdout.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("event") == "print":
            epoch, step, _ = map(int, event["text"].split())
            found.setdefault(epoch, {}).setdefault(step, 0)
            found[epoch][step] += 1
    return [list(found[epoch].values()) for epoch in sorted(found)]


with scratch() as place:
    folder = pathlib.Path(place)

    def built(name, trainer, rest=""):
        (folder / f"{name}.ltr").write_text(PROGRAM.format(trainer=trainer, rest=rest))
        return build(folder / f"{name}.ltr", folder)

    plain = built("plain", "")
    BY_EPOCH = "by_epoch([(1, 4), (2, 5)])"
    RAMP = "ramp(1, 4, over = 10 steps)"
    expected = {"by_epoch": [[1] * 12, [4] * 3, [5, 5, 2], [5, 5, 2]]}
    for name, value in (("by_epoch", BY_EPOCH), ("ramp", RAMP), ("epochs", "ramp(1, 4, over = 3 epochs)")):
        program = built(name, f"accumulate = {value}")
        result = fit(program, folder / f"{name}-runs", "--json")
        rows = updates(result)
        check(f"{name}: trains", result.returncode == 0, result.text)
        if name == "by_epoch":
            check("by_epoch: so many batches make an update", rows == expected[name], rows)
        elif name == "ramp":
            step, wanted = 0, []
            for _ in range(4):
                left, epoch = 12, []
                while left > 0:
                    epoch.append(min(left, round(1 + 3 * min(step / 10, 1) + 1e-9)))
                    left -= epoch[-1]
                    step += 1
                wanted.append(epoch)
            check("ramp: in a straight line", rows == wanted, (rows, wanted))
        else:
            check("ramp: over epochs", rows == [[1] * 12, [2] * 6, [3] * 4, [4] * 3], rows)
        typed = fit(plain, folder / f"{name}-typed", "--json", "--set", f"trainer.accumulate={value}")
        check(f"{name}: the same from the command line", updates(typed) == rows, typed.text)
        check(f"{name}: and bit for bit", result_of(newest(folder / f"{name}-runs"))[1] == result_of(newest(folder / f"{name}-typed"))[1])
        code, text = interrupt(program, folder / f"{name}-stopped", 13, signal.SIGTERM)
        again = fit(program, folder / f"{name}-stopped", "--resume", "last")
        check(f"{name}: a resumed run ends with the same bits", code == 75 and again.returncode == 0 and
              result_of(newest(folder / f"{name}-stopped")) == result_of(newest(folder / f"{name}-runs")), text + again.text)
        planned = run(program, "describe")
        check(f"{name}: the steps are planned", f"{sum(map(len, rows))} steps" in planned.text, planned.text)
    for value, said in (("by_epoch([(2, 4), (1, 2)])", "rise"), ("by_epoch([(0, 0)])", "at least 1"), ("ramp(0, 4, over = 2 steps)", "at least 1"),
                        ("ramp(1, 4)", "over: period"), ("ramp(1, 4, 2 min)", "steps or epochs"), ("fraction(0.5)", "by_epoch(pairs"),
                        ("by_epoch(3)", "by_epoch(pairs")):
        refused = fit(plain, folder / "refused", "--set", f"trainer.accumulate={value}")
        check(f"accumulate = {value} is refused", refused.returncode == 2 and said in refused.text, refused.text)

    refused = fit(plain, folder / "refused", "--set", f"trainer.accumulate={BY_EPOCH}", "--set", "trainer.steps_per_epoch=4")
    check("steps_per_epoch wants one number of batches", refused.returncode == 2 and "R2006" in refused.text, refused.text)
    idle = fit(plain, folder / "idle", "--epochs", 1, "--set", "trainer.steps_per_epoch=40")
    check("steps_per_epoch above what there is: a warning", idle.returncode == 0 and
          "steps_per_epoch = 40, but train has 12 batches: an epoch has 12 steps" in idle.text, idle.text)
    fits = fit(plain, folder / "idle", "--epochs", 1, "--set", "trainer.steps_per_epoch=12")
    check("steps_per_epoch of as many: none", fits.returncode == 0 and "warning" not in fits.text, fits.text)
    unwatched = fit(built("watched", "", ", callbacks { EarlyStop(monitor = val.seen, mode = max) }"), folder / "unwatched", "--limit-val", 0)
    check("limit_val = 0: what is watched has no value, a warning", unwatched.returncode == 0 and
          "limit_val = 0: val.seen has no value, which EarlyStop watches" in unwatched.text, unwatched.text)
    plateau = folder / "plateau.ltr"
    plateau.write_text(PROGRAM.format(trainer="", rest="").replace("SGD(w, lr = 1e-9)", "SGD(w, lr = 1e-9) { schedule = plateau(val.seen, mode = max) }"))
    unwatched = fit(build(plateau, folder), folder / "unwatched", "--limit-val", 0)
    check("and what a plateau waits for", unwatched.returncode == 0 and
          "limit_val = 0: val.seen has no value, which the plateau of opt watches" in unwatched.text, unwatched.text)
    # Epochs of 12, 12, 3 and 3 updates: a period that repeats, or begins later, is not as long everywhere.
    by_schedule = PROGRAM.replace("SGD(w, lr = 1e-9)", "SGD(w, lr = 1e-9) {{ schedule = [SCHEDULE] }}")
    for name, schedule, is_right in (
            ("exponential", "exponential(gamma = 0.5)", False), ("step", "step(2 epochs, gamma = 0.5)", False),
            ("restarts", "cosine_restarts(1 epoch)", False), ("wsd", "wsd(warmup = 1 epoch, decay = 1 epoch)", False),
            ("later", "sequential([(constant(), 1 epoch), (constant(), 2 epochs)])", False),
            ("multistep", "multistep([2 epochs, 3 epochs])", True), ("steps", "step(10 steps, gamma = 0.5)", True),
            ("warmup", "cosine(warmup = 1 epoch)", True), ("first", "sequential([(constant(), 2 epochs)])", True)):
        source = folder / f"schedule_{name}.ltr"
        source.write_text(by_schedule.replace("[SCHEDULE]", schedule).format(trainer=f"accumulate = {BY_EPOCH}", rest=""))
        ended = fit(build(source, folder), folder / "schedules")
        told = ended.returncode == 2 and "R2006" in ended.text and "different numbers of updates" in ended.text
        check(f"{schedule} by epochs that differ: {'trains' if is_right else 'R2006'}", ended.returncode == 0 if is_right else told, ended.text)
    manual = PROGRAM.replace(") {{\n    loss =", ") manual {{\n    opt.zero_grad()\n    loss =").replace("minimize loss", "backward loss\n    opt.step()")
    (folder / "manual.ltr").write_text(manual.format(trainer="", rest=""))
    refused = fit(build(folder / "manual.ltr", folder), folder / "refused", "--set", "trainer.accumulate=by_epoch([(2, 4)])")
    check("a manual step takes batch by batch, later too", refused.returncode == 2 and "R2006" in refused.text and "manual" in refused.text, refused.text)

    limited = built("limited", "limit_train = fraction(0.5), limit_val = fraction(0.25), deterministic = warn")
    result = fit(limited, folder / "limited-runs", "--json")
    check("fraction: half of the batches", updates(result) == [[1] * 6] * 4, result.text)
    values = [line.split(",") for line in (newest(folder / "limited-runs") / "metrics.csv").read_text().splitlines()]
    seen = {float(row[values[0].index("val/seen")]) for row in values[1:] if row[values[0].index("val/seen")]}
    check("fraction: a quarter of the round", seen == {sum(range(8)) / 8}, seen)
    for value in ("fraction(1.5)", "fraction()", "fraction(0.1, 0.2)", "0.5"):
        refused = fit(plain, folder / "refused", "--set", f"trainer.limit_train={value}")
        check(f"limit_train = {value} is refused", refused.returncode == 2 and "R2003" in refused.text, refused.text)

    # The first two batches have 7 and 8 tokens; their means of y are 1.5 and 5.5.
    for name, weigh, wanted in (("tokens", 'weigh = count("ids", ignore = 0), ', (7 * 1.5 + 8 * 5.5) / 15), ("samples", "", 3.5)):
        counted = built(name, weigh + "limit_train = 2")
        result = fit(counted, folder / f"{name}-runs")
        rows = [line.split(",") for line in (newest(folder / f"{name}-runs") / "metrics.csv").read_text().splitlines()]
        means = [float(row[rows[0].index("train/loss")]) for row in rows[1:] if row[rows[0].index("train/loss")]]
        check(f"a mean over {name}", result.returncode == 0 and means and all(abs(mean - wanted) < 1e-6 for mean in means), (means, result.text))
    refused = fit(plain, folder / "refused", "--set", 'trainer.weigh=count("idz")')
    check("count: a field that is not there", refused.returncode == 2 and "R2002" in refused.text and "idz" in refused.text, refused.text)
finish()
