#!/usr/bin/env python3
"""What a terminal is shown: the bar and what stands in its place, in every style, its share of waiting for data, how often it is drawn;
the table of layers at the start, to a depth or not at all."""
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, build, check, finish, newest, run, scratch
from programs import LISTS

LONG = ("--epochs", 100000, "--set", "callbacks.EarlyStop=off", "--set", "callbacks.Checkpoint=off")
# Of a record a million numbers are drawn.
WAITS = LISTS.replace("full(4, 1.0 * s.i)", "randn(1000000).reshape(4, 250000).mean([1])").replace("synthetic(8", "synthetic(4000")

processes = []


def words(*command):
    return [str(word) for word in command]


def summaries(lists, folder):
    depths = {depth: run(lists, "describe", "--set", f"callbacks.Summary.depth={depth}").text for depth in (0, 1, 2, 3)}
    check("a depth of 0 has the sums alone", "Linear" not in depths[0] and "104 trainable" in depths[0], depths[0])
    check("a depth of 1 is the table that there is", depths[1] == run(lists, "describe").text, depths[1])
    check("each further one shows what lies within, and ends where blocks do", depths[2].count("Residual") == 3
          and "stem " in depths[2] and "body.1 " in depths[2] and "body.1.norm  BatchNorm1d" in depths[3] and "Residual" not in depths[3], (depths[2], depths[3]))
    shown, hidden = (run(lists, "fit", "--out", folder / f"table{len(more)}", *more) for more in ((), ("--set", "callbacks.Summary=off")))
    check("Summary=off leaves the table out, and nothing else", hidden.returncode == 0 and "stem " in shown.stdout and "trainable" in shown.stdout
          and "stem " not in hidden.stdout and "trainable" not in hidden.stdout and "train 8 samples, 2 batches" in hidden.stdout, hidden.text)
    check("the run has it all the same", "stem " in (newest(folder / "table2") / "summary.txt").read_text(), hidden.text)
    for setting, says in (("Summary.depth=-1", "depth >= 0"), ("Summary.flop=true", "callbacks.Summary.flop"), ("ProgressBar.style=dots", "auto, bar, lines or none"),
                          ("ProgressBar.rate=0", "rate >= 1"), ("Summery=off", "Summary")):
        result = run(lists, "fit", "--out", folder / "refused-ui", "--set", f"callbacks.{setting}")
        check(f"{setting} is refused", result.returncode == 2 and says in result.text, result.text)


def drawn(iris, folder, columns, count, *more):
    """The first `count` bars that a terminal of so many columns is shown, without colours, and the seconds from the first to the last; of what
    is shown before the run's end, where it has none."""
    primary, secondary = pty.openpty()
    fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(words(iris, "fit", "--out", folder / "bar", *more), stdout=subprocess.DEVNULL, stderr=secondary,
                               env={**os.environ, "TERM": "xterm"})
    os.close(secondary)
    processes.append(process)
    text, times = b"", []
    while len(times) < count and len(text) < 1000000:
        try:
            part = os.read(primary, 4096)
        except OSError:  # It ended.
            break
        text += part
        bars = re.findall(r"\r(epoch [^\r]*)\x1b\[K", text.decode(errors="ignore"))
        times += [time.monotonic()] * (len(bars) - len(times))
    process.kill()
    os.close(primary)
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", bar) for bar in re.findall(r"\r(epoch [^\r]*)\x1b\[K", text.decode(errors="ignore"))]
    return plain, times[-1] - times[0] if times else 0, text.decode(errors="ignore")


def bars(iris, folder):
    plain, _, _ = drawn(iris, folder, 80, 20, *LONG)
    check("at 80 columns the bar keeps the loss", plain and all(len(bar) < 80 for bar in plain)
          and re.search(r"loss \d\S*  ", plain[-1] + "  "), plain[-3:])
    plain, _, _ = drawn(iris, folder, 160, 20, *LONG)
    shares = [int(share) for share in re.findall(r"  mem \S+ \S+  data (\d+)%  ", "\n".join(bar + "  " for bar in plain))]
    check("a wide one has the share of time that training waits for data", len(shares) >= 15 and all(0 <= share <= 100 for share in shares), plain[-3:])
    slow = [bar for bar in drawn(folder / "waits", folder, 160, 30)[0] if "data" in bar]
    check("which is most of it where records are slow", slow and int(re.search(r"data (\d+)%", slow[-1])[1]) > 50, slow[-3:])
    _, slowly, _ = drawn(iris, folder, 160, 7, *LONG, "--set", "callbacks.ProgressBar.rate=2")
    _, fast, _ = drawn(iris, folder, 160, 7, *LONG, "--set", "callbacks.ProgressBar.rate=50")
    check("`rate` is how often a second it is drawn", slowly > 2 > fast, (slowly, fast))
    for style, more in (("lines", ()), ("none", ()), ("bar", ("--no-bar",))):
        plain, _, text = drawn(iris, folder, 160, 3, "--epochs", 3, "--set", f"callbacks.ProgressBar.style={style}", *more)
        lines = re.findall(r"(?m)^epoch \d/3  step", text)
        check(f"style = {style} {' '.join(more)} draws no bar", not plain and "\x1b" not in text and bool(lines) == (style != "none"), text)
    plain, _, text = drawn(iris, folder, 160, 3, "--epochs", 3, "--set", "callbacks.ProgressBar=off")
    check("nor does one that is off, nor say how far it is", not plain and "epoch" not in text, text)
    result = run(iris, "fit", "--out", folder / "piped", "--epochs", 3)
    check("a pipe has lines", result.returncode == 0 and "\x1b" not in result.stderr and "epoch 3/3  step" in result.stderr, result.text)
    result = run(iris, "fit", "--out", folder / "piped", *LONG, "--max-time", "2 s", "--set", "callbacks.ProgressBar.style=bar")
    check("unless a bar is asked for", result.returncode == 0 and re.search(r"epoch \d+/100000 +\d+/8 .*\x1b\[K", result.stderr), result.text[-2000:])


with scratch() as name:
    folder = pathlib.Path(name)
    (folder / "lists.ltr").write_text(LISTS)
    (folder / "waits.ltr").write_text(WAITS)
    build(folder / "waits.ltr", folder)
    iris = build(EXAMPLES / "iris.ltr", folder)
    try:
        summaries(build(folder / "lists.ltr", folder), folder)
        bars(iris, folder)
    finally:
        for process in processes:
            process.kill()
            process.wait()
finish()
