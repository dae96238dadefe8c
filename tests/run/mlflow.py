#!/usr/bin/env python3
"""`Mlflow`: what a tracking server has of a run is what the run wrote, to the last digit, whatever happens to either of them; secrets are in no
file and no output.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import csv
import fcntl
import json
import math
import os
import pathlib
import re
import signal
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, fit, interrupt, newest, result_of, run, scratch
from tracking import Tracking

PROGRAM = """ltr 1

data Points() {{
  batch[B] {{ x: float[B, 4], y: float[B, 2] }}
  fn point(row: {{i: int}}) -> {{x: float[4], y: float[2]}} = (x = randn(4), y = ones(2) * row.i / 64.0)
  train = range(64) |> map(point) |> shuffle(1) |> collate(8)
  val = range(16) |> map(point) |> collate(8)
}}

model Net(lr: float = 0.05) {{
  net = Linear(4, 2)
  optimizer opt = SGD(net.weights, lr = lr)
  step train[B](x: float[B, 4], y: float[B, 2]) {{
    loss = mean((net(x) - y) ** 2)
    minimize loss
    log loss
    log odd = (loss - loss) / (loss - loss)
  }}
  step val[B](x: float[B, 4], y: float[B, 2]) {{ log loss = mean((net(x) - y) ** 2) }}
}}

callback Breaks(at: int) {{ on train_epoch_start {{ assert epoch != at, "broken on purpose" }} }}

experiment e {{
  data = Points(), model = Net()
  trainer {{ epochs = 3, log_every = 1 }}
  callbacks {{ {callbacks} }}
  loggers {{ {loggers} }}
  tags {{ team = "vision" }}
}}
"""
SECRET = "s3cret-of-the-server"


def rows_of(run_folder):
    """{series: [(step, value)]} of metrics.csv, with `epoch`."""
    out = {}
    with open(run_folder / "metrics.csv") as file:
        for row in csv.DictReader(file):
            for name, text in row.items():
                if name != "step" and text != "":
                    out.setdefault(name, []).append((int(row["step"]), float(text)))
    return out


def told(tracked):
    """The same of a run on the server."""
    return {name: [(step, value) for step, _, value in history] for name, history in tracked["metrics"].items()}


def same(run_folder, tracked):
    """Each value that the table has is on the server, once, and nothing more; the clock's are in no table."""
    ours, theirs = rows_of(run_folder), told(tracked)
    return [name for name in sorted(set(ours) | set(theirs))
            if repr(sorted(ours.get(name, []))) != repr(sorted(theirs.get(name, []))) and not name.startswith("throughput")]


def text_of_all(folder):
    return "".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


with scratch() as folder:
    folder = pathlib.Path(folder)
    runs = folder / "runs"
    for name in list(os.environ):
        if name.startswith("MLFLOW_"):
            del os.environ[name]

    def built(name, loggers, callbacks="Checkpoint(monitor = val.loss)"):
        source = folder / f"{name}.ltr"
        source.write_text(PROGRAM.format(loggers=loggers, callbacks=callbacks))
        return build(source, folder)

    plain = built("plain", "Csv(), Mlflow()")
    quiet = built("quiet", "Csv()")
    fit(quiet, runs / "quiet")
    expected = result_of(newest(runs / "quiet"))

    def tracked_fit(program, out, server, *options):
        os.environ["MLFLOW_TRACKING_URI"] = server if isinstance(server, str) else server.uri
        begin = time.monotonic()
        result = fit(program, runs / out, *options)
        result.took = time.monotonic() - begin
        return result, newest(runs / out)

    # What a server has.
    server = Tracking()
    result, ours = tracked_fit(plain, "plain", server)
    one = server.run()
    check("a run is told without an error", result.returncode == 0 and not server.wrong and "warning" not in result.text, (server.wrong, result.text))
    check("its metrics are those of metrics.csv to the last digit", not same(ours, one) and len(one["metrics"]["train/loss"]) == 24, same(ours, one))
    check("nan is nan", all(math.isnan(value) for _, _, value in one["metrics"]["train/odd"]) and len(one["metrics"]["train/odd"]) == 24)
    check("the experiment has its name, the run that of its folder", list(server.experiments) == ["e"] and one["info"]["run_name"] == "e/0001", one["info"])
    check("it ends as finished", one["states"] == ["FINISHED"] and one["info"]["end_time"] >= one["info"]["start_time"], one["info"])
    check("settings are params", one["params"]["trainer.epochs"] == "3" and one["params"]["model.lr"] == "0.05" and one["params"]["trainer.seed"] == "0", one["params"])
    check("tags are tags", one["tags"]["team"] == "vision" and one["tags"]["mlflow.source.name"].endswith("plain.ltr") and "tags.team" not in one["params"], one["tags"])
    place = one["info"]["artifact_uri"].removeprefix("mlflow-artifacts:/")
    files = {name.removeprefix(place + "/"): data for name, data in server.files.items()}
    check("files are there", set(files) >= {"config.json", "summary.txt", "source/plain.ltr", "checkpoints/best/weights.safetensors"}, sorted(files))
    check("the weights are the best ones", files.get("checkpoints/best/weights.safetensors") == (ours / "checkpoints/best/weights.safetensors").read_bytes())
    check("the source is the source", files.get("source/plain.ltr", b"").decode() == (folder / "plain.ltr").read_text())
    check("training is the same with it", result_of(ours) == expected)
    result = run(LTRC, "sync", ours)
    check("nothing is left to sync", result.returncode == 0 and not same(ours, one) and len(server.runs) == 1, result.text)

    # What is written in the program.
    server = Tracking()
    given = built("given", f'Csv(), Mlflow(uri = "{server.uri}/", experiment = "ours & theirs", run_name = run.name + "!", artifacts = all, auto = false)', f'Checkpoint(keep = 3, dir = "{folder}/kept"), Throughput(window = 2 steps)')
    result, ours = tracked_fit(given, "given", "http://127.0.0.1:9")
    one = server.run()
    check("its own settings count", result.returncode == 0 and not server.wrong and list(server.experiments) == ["ours & theirs"] and one["info"]["run_name"] == "0001!", (server.wrong, one["info"], result.text))
    check("`auto = false` sends no settings and no origin", not one["params"] and set(one["tags"]) == {"ltr.run", "team"}, one)
    check("`artifacts = all` sends the weights of all checkpoints", sum(name.endswith("weights.safetensors") and name.split("/")[3] == "checkpoints" for name in server.files) == 3, sorted(server.files))
    check("values of the clock are sent, too", not same(ours, one) and one["metrics"]["throughput/samples_per_s"], one["metrics"].keys())
    server = Tracking(artifacts="file:///tmp/{}/{}/artifacts")
    result, ours = tracked_fit(plain, "elsewhere", server)
    check("a server that keeps files elsewhere gets none, which is said", result.returncode == 0 and "does not take files of the run" in result.stderr and "--serve-artifacts" in result.stderr
          and not server.files and server.run()["states"] == ["FINISHED"], result.text)

    # Rows that come faster than answers go together.
    server = Tracking()
    result, ours = tracked_fit(plain, "fast", server, "--epochs", 200, "--set", "trainer.log_every=1")
    rows = max(map(len, rows_of(ours).values()))
    sent = sum("log-batch" in str(call) for call in server.calls)
    check(f"{rows} rows are {sent} requests", result.returncode == 0 and rows == 1600 and sent < rows / 20 and not same(ours, server.run()), result.text[-2000:])

    # Ends, and what goes on.
    server = Tracking()
    result, ours = tracked_fit(built("fails", "Csv(), Mlflow()", "Breaks(at = 1)"), "fails", server)
    check("a failure is told", result.returncode == 1 and server.run()["states"] == ["FAILED"] and not same(ours, server.run()), (result.text, server.run()["states"]))
    for number, code, states in ((signal.SIGTERM, 75, []), (signal.SIGINT, 130, ["KILLED"]), (signal.SIGKILL, -9, [])):
        server = Tracking()
        os.environ["MLFLOW_TRACKING_URI"] = server.uri
        out = runs / f"stopped-{int(number)}"
        got, text = interrupt(plain, out, 300, number, "--set", "trainer.epochs=100", "--set", "callbacks.Checkpoint.keep=2")
        check(f"signal {number.name}: the state", got == code and (server.run()["states"] if server.runs else []) == states, (got, server.runs, text[-500:]))
        result = fit(plain, out, "--resume", "auto", "--set", "trainer.epochs=100", "--set", "callbacks.Checkpoint.keep=2")
        one = server.run()
        check(f"signal {number.name}: it goes on as the same run", result.returncode == 0 and one["states"] == states + ["RUNNING", "FINISHED"] and not server.wrong, (result.text, one["states"], server.wrong))
        check(f"signal {number.name}: no point is missing, none is double", not same(newest(out), one) and len(one["metrics"]["train/loss"]) == 800, same(newest(out), one))

    # Servers in trouble.
    server = Tracking([500, 429, 503, 0.5, 408, 500])
    result, ours = tracked_fit(plain, "faults", server, "--set", "trainer.epochs=3")
    check("what fails is sent again", result.returncode == 0 and (run(LTRC, "sync", ours).returncode == 0) and not same(ours, server.run()) and not server.wrong, (result.text, server.wrong))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    gone = f"http://127.0.0.1:{port}"
    result, ours = tracked_fit(plain, "gone", gone)
    check("a server that is gone is a warning that says what to do", result.returncode == 0 and f"`ltrc sync {ours}`" in result.text and result.stderr.count("warning: Mlflow") <= 2, result.text)
    check("which takes no time, and changes nothing", result.took < 5 and result_of(ours) == expected, result.took)
    failed = run(LTRC, "sync", ours)
    check("which sync says, too", failed.returncode == 1 and "values wait" in failed.stderr, failed.text)
    with open(ours / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = run(LTRC, "sync", ours)
        check("sync leaves a run alone that somebody trains", result.returncode == 2 and "is in use" in result.text, result.text)
    server = Tracking(port=port)
    result = run(LTRC, "sync", ours)
    check("sync sends all of it later", result.returncode == 0 and not same(ours, server.run()) and server.run()["states"] == ["FINISHED"] and not server.wrong and server.files, (result.text, server.wrong))
    server.die()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        result, ours = tracked_fit(plain, "silent", f"http://127.0.0.1:{silent.getsockname()[1]}")
    check("one that hangs costs two seconds at the end", result.returncode == 0 and result.took < 6 and "`ltrc sync" in result.text and result_of(ours) == expected, (result.took, result.text))
    server = Tracking([3.5])
    result, ours = tracked_fit(plain, "late", server)
    check("a run that the server made, and could not tell of", result.returncode == 0 and "`ltrc sync" in result.text, result.text)
    check("is found again", run(LTRC, "sync", ours).returncode == 0 and len(server.runs) == 1 and not same(ours, server.run()), server.runs.keys())
    server = Tracking([500] * 100)
    result, ours = tracked_fit(plain, "broken", server)
    check("one that is broken is left in peace", result.returncode == 0 and result.took < 8 and "not now" in result.text and result_of(ours) == expected, (result.took, result.text))

    # A server that is required, and one that asks who is there.
    needs = built("needs", "Csv(), Mlflow(required = true)")
    result = tracked_fit(needs, "quiet", gone)[0]
    check("a required one must answer", result.returncode == 1 and "R1011" in result.text and not (runs / "quiet/e/0002").exists(), result.text)
    for name, password, variables in (("basic", f"ada:{SECRET}", {"MLFLOW_TRACKING_USERNAME": "ada", "MLFLOW_TRACKING_PASSWORD": SECRET}),
                                      ("token", SECRET, {"MLFLOW_TRACKING_TOKEN": SECRET})):
        server = Tracking(password=password)
        result = tracked_fit(needs, "quiet", server)[0]
        check(f"{name}: without credentials it is refused", result.returncode == 1 and "it answers 401: who are you?" in result.text, result.text)
        os.environ.update(variables)
        result, ours = tracked_fit(needs, name, server)
        for variable in variables:
            del os.environ[variable]
        check(f"{name}: with them it is told", result.returncode == 0 and not same(ours, server.run()) and not server.wrong, (result.text, server.wrong))
        check(f"{name}: they are nowhere", SECRET not in result.text + text_of_all(ours) + json.dumps(server.run()))

    # What is no server.
    result = tracked_fit(plain, "quiet", f"https://ada:{SECRET}@tracking.example")[0]
    check("an address with a password is refused, and not shown", result.returncode == 2 and "R2006" in result.text and SECRET not in result.text, result.text)
    result = tracked_fit(plain, "quiet", "file:///tmp/mlruns")[0]
    check("a folder is no server", result.returncode == 2 and "mlflow server --backend-store-uri" in result.text, result.text)
    del os.environ["MLFLOW_TRACKING_URI"]
    result = fit(plain, runs / "quiet")
    check("no address is an error", result.returncode == 2 and "neither `uri` nor MLFLOW_TRACKING_URI" in result.text, result.text)
    result = fit(plain, runs / "quiet", "--set", "loggers.Mlflow=off")
    check("it can be left out", result.returncode == 0, result.text)
    for what, place, words in (("no run", folder / "nowhere", "nowhere"), ("a run without server", newest(runs / "quiet"), "nothing to send")):
        result = run(LTRC, "sync", place)
        check(f"sync of {what}", result.returncode == 2 and words in result.text, result.text)

finish()
