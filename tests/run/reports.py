#!/usr/bin/env python3
"""Pages about runs, `report` and `ltrc compare`: what they hold, that a browser draws it, and what damaged runs say.

Python's standard library, and Chromium where there is one (its part is left out without); LTRC and LTR_SOURCE say which
compiler and sources, if not these.
"""
import base64
import html.parser
import json
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, run, scratch

PROGRAM = """ltr 1
hparam lr: float = 0.1
hparam tag: str = "plain"
data Points() {
  batch[B] { x: float[B, 2], y: float[B, 1] }
  fn point(s: {i: int}) -> {x: float[2], y: float[1]} = (x = full(2, 0.01 * s.i), y = full(1, 0.02 * s.i))
  train = synthetic(32, point) |> shuffle(1) |> collate(4)
  val = synthetic(8, point) |> collate(4)
}
model Line(lr: float, tag: str) {
  out = Linear(2, 1)
  optimizer opt = SGD(out.weights, lr = lr)
  step train[B](x: float[B, 2], y: float[B, 1]) {
    loss = mse(out(x), y)
    minimize loss
    log loss
    log odd = if global_step == 7 then 0.0 / 0.0 else 1.0
  }
  step val[B](x: float[B, 2], y: float[B, 1]) {
    log loss = mse(out(x), y)
    log image board = zeros(1, 8, 8)
    print tag
  }
}
experiment line {
  data = Points()
  model = Line(lr, tag)
  trainer { epochs = 4, log_every = 4 }
  callbacks { Checkpoint(monitor = val.loss, every = 1 epoch) }
  loggers { Csv(), TensorBoard() }
}
"""
HOSTILE = "</script><script>document.title='taken'</script><b>&amp;"
BROWSER = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


class Reader(html.parser.HTMLParser):
    """The texts of a page by element, its images, and the data of its curves."""

    def __init__(self, page):
        super().__init__()
        self.cells, self.images, self.scripts, self.title, self.open = [], [], [], "", []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        if tag == "img":
            self.images.append(dict(attributes))
        if tag in ("td", "th"):
            self.cells.append("")
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        tag = self.open[-1] if self.open else ""
        if tag in ("td", "th"):
            self.cells[-1] += data
        if tag == "script":
            self.scripts[-1] += data
        if tag == "title":
            self.title += data

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass


def browse(page):
    """The page as a browser has it behind its scripts, and what went wrong there."""
    result = run(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=5000",
                 "--dump-dom", pathlib.Path(page).as_uri(), timeout=120)
    errors = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    return result.stdout, errors


def check_drawn(title, page, charts):
    if BROWSER is None:
        print(f"left out: {title}: there is no browser")
        return
    drawn, errors = browse(page)
    check(f"{title}: no script fails", not errors, errors)
    found = re.findall(r'<div class="chart"><h3>([^<]*)</h3>', drawn)
    check(f"{title}: its charts are drawn", sorted(found) == sorted(charts), found)
    paths = re.findall(r'<path d="([^"]*)"', drawn)
    check(f"{title}: each has a curve of numbers", len(paths) >= len(charts) and all(path.count("L") >= 1 for path in paths)
          and "NaN" not in "".join(paths), paths)
    check(f"{title}: what runs are called runs nothing", "<title>taken" not in drawn, drawn[:400])


def check_page(program, folder):
    reported = run(program, "report", cwd=folder)
    page = pathlib.Path(reported.stdout.strip())
    check("report says where its page is", reported.returncode == 0 and page == (folder / "runs/line/0001/report.html").resolve(),
          reported.text)
    text = page.read_text()
    reader = Reader(text)
    check("it asks no server for anything", not re.search(r'(src|href)="(?!data:)', text) and "@import" not in text)
    curves = json.loads(reader.scripts[0])["runs"][0]
    series = {one["name"]: one["points"] for one in curves["series"]}
    check("all series are in it", sorted(series) == ["lr/opt", "train/loss", "train/odd", "val/loss"], list(series))
    rows = [line.split(",") for line in (folder / "runs/line/0001/metrics.csv").read_text().splitlines()]
    losses = {int(row[0]): float(row[rows[0].index("train/loss")]) for row in rows[1:] if row[rows[0].index("train/loss")]}
    check("with the values of metrics.csv", {p[0]: p[3] for p in series["train/loss"]} == losses, (series["train/loss"], losses))
    check("what is no number has no value", [p[0] for p in series["train/odd"] if p[3] is None] == [8], series["train/odd"])
    check("settings with their values and where they come from", {"lr", "0.05", "flag", "--lr 0.05"} <= set(reader.cells), reader.cells)
    check("a text that looks like a script is a text", HOSTILE in reader.cells and len(reader.scripts) == 2, reader.cells)
    pictures = [base64.b64decode(image["src"].split(",")[1]) for image in reader.images]
    check("images are in it", len(pictures) == 4 and all(png.startswith(b"\x89PNG") for png in pictures), reader.images)
    check_drawn("a run", page, ["lr/opt", "loss", "odd"])
    as_json = run(program, "report", "1", "--json", cwd=folder)
    check("--json names run and page", json.loads(as_json.stdout)["page"] == str(page), as_json.text)


def check_compare(program, folder):
    run(program, "fit", "--lr", "0.2", "--epochs", "3", "--quiet", cwd=folder)
    runs = [folder / "runs/line/0001", folder / "runs/line/0002"]
    page = folder / "both.html"
    compared = run(LTRC, "compare", *runs, "--html", page)
    lines = [line.split() for line in compared.stdout.splitlines()]
    check("compare shows what differs", compared.returncode == 0 and ["lr", "0.05", "0.2"] in lines and
          ["trainer.epochs", "4", "3"] in lines and not any(line[:1] == ["trainer.log_every"] for line in lines), compared.text)
    check("and what the runs came to", ["status", "finished", "finished"] in lines and ["steps", "32", "24"] in lines, compared.text)
    as_json = json.loads(run(LTRC, "compare", *runs, "--json").stdout)
    check("--json, too", as_json["settings"]["lr"] == ["0.05", "0.2"] and len(as_json["results"]["val/loss"]) == 2, as_json)
    check("a page holds the curves of both", [one["name"] for one in json.loads(Reader(page.read_text()).scripts[0])["runs"]]
          == ["line/0001", "line/0002"])
    run(program, "fit", "--epochs", "2", "--quiet", "--out", folder / "others", cwd=folder)
    alike = [folder / "runs/line/0001", folder / "others/line/0001"]
    compared = run(LTRC, "compare", *alike)
    check("runs of one name are told apart by their folders", compared.stdout.splitlines()[1].split() == [str(one) for one in alike], compared.text)
    check_drawn("two runs", page, ["lr/opt", "loss", "odd"])
    alone = run(LTRC, "compare", runs[0])
    check("one run is not compared: exit 2", alone.returncode == 2, alone.text)
    missing = run(LTRC, "compare", runs[0], folder)
    check("a folder without a run: exit 2, named", missing.returncode == 2 and str(folder) in missing.stderr and
          "no run in this folder" in missing.stderr, missing.text)
    nowhere = run(LTRC, "compare", *runs, "--html", folder / "no/such/page.html")
    check("a page that cannot be written: exit 1", nowhere.returncode == 1 and "cannot write" in nowhere.stderr, nowhere.text)


def check_resumed(program, folder):
    """What a run that goes on records anew stands once."""
    run(program, "fit", "--epochs", "2", "--quiet", cwd=folder)
    journal = folder / "runs/line/0003/log.jsonl"
    with journal.open("a") as file:  # As of a process that went on, and was killed before it kept anything.
        file.write('{"kind":"metrics","step":20,"epoch":2,"time":1,"values":{"train/loss":"Infinity"}}\n{"kind":"metr')
    run(program, "fit", "--resume", "runs/line/0003", "--epochs", "4", "--quiet", cwd=folder)
    reported = run(program, "report", "3", cwd=folder)
    page = pathlib.Path(reported.stdout.strip())
    if check("a resumed run has a page", reported.returncode == 0, reported.text):
        points = next(one["points"] for one in json.loads(Reader(page.read_text()).scripts[0])["runs"][0]["series"]
                      if one["name"] == "train/loss")
        steps = [p[0] for p in points]
        check("each step once, in order, none lost", steps == sorted(set(steps)) and steps[-1] == 32 and
              all(p[3] is not None for p in points), points)


def check_damage(program, folder):
    journal = folder / "runs/line/0002/log.jsonl"
    whole = journal.read_text()
    lines = whole.splitlines(keepends=True)
    for title, text in (("a line that is no JSON", lines[0] + "{]\n" + "".join(lines[1:])),
                        ("values of another type", lines[0] + '{"kind":"metrics","step":"x","values":{}}\n')):
        journal.write_text(text)
        reported = run(program, "report", "2", cwd=folder)
        check(f"{title}: R2016 with file and byte", reported.returncode == 2 and "error[R2016]" in reported.stderr and
              f"log.jsonl: at byte {len(lines[0])}" in reported.stderr, reported.text)
        compared = run(LTRC, "compare", folder / "runs/line/0001", folder / "runs/line/0002")
        check(f"{title}: compare names it, too", compared.returncode == 2 and "log.jsonl" in compared.stderr, compared.text)
    journal.write_text(whole[:-20])
    check("a torn last line is none", run(program, "report", "2", cwd=folder).returncode == 0)
    journal.write_text(whole)
    events = next((folder / "runs/line/0002").glob("events.out.tfevents.*"))
    kept = bytearray(events.read_bytes())
    damaged = bytearray(kept)
    damaged[len(kept) // 2] ^= 1
    events.write_bytes(damaged)
    reported = run(program, "report", "2", cwd=folder)
    check("a flipped bit in the event file: R2016", reported.returncode == 2 and "error[R2016]" in reported.stderr and
          "tfevents" in reported.stderr, reported.text)
    events.write_bytes(kept[:-3])
    check("a torn last record is none", run(program, "report", "2", cwd=folder).returncode == 0)
    nothing = run(program, "report", "77", cwd=folder)
    check("no such run: R2010", nothing.returncode == 2 and "R2010" in nothing.stderr, nothing.text)


with scratch() as folder:
    folder = pathlib.Path(folder)
    source = folder / "line.ltr"
    source.write_text(PROGRAM)
    program = build(source, folder)
    fitted = run(program, "fit", "--lr", "0.05", "--set", f"tag={HOSTILE}", "--quiet", cwd=folder)
    check("it trains", fitted.returncode == 0, fitted.text)
    check_page(program, folder)
    check_compare(program, folder)
    check_resumed(program, folder)
    check_damage(program, folder)
finish()
