#!/usr/bin/env python3
"""Writes docs/terminal.svg: a mistake that `ltrc check` finds, then the run, as the terminal shows them.

    docs/picture.py LTRC [FILE]        Python's standard library alone; into another file, if it is named
"""
import html
import pathlib
import re
import subprocess
import sys
import tempfile

COLOURS = {"31": "#e06c75", "32": "#98c379", "33": "#e5c07b", "34": "#61afef", "36": "#56b6c2", "2": "#8b93a1"}
LINE, CHARACTER = 17, 7.83


def shown(folder, *command):
    """What a command writes, on one terminal line each; colours as it makes them."""
    result = subprocess.run([str(word) for word in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return result.stdout.rstrip().splitlines()


def svg_line(text, number):
    spans, style = [], ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", text):
        if part.startswith("\x1b["):
            codes = part[2:-1].split(";")
            colour = next((COLOURS[code] for code in codes if code in COLOURS), "")
            style = f' fill="{colour}"' * bool(colour) + ' font-weight="bold"' * ("1" in codes)
        elif part:
            spans.append(f"<tspan{style}>{html.escape(part, quote=False)}</tspan>")
    return f'<text x="14" y="{26 + number * LINE}" xml:space="preserve">{"".join(spans)}</text>'


def main(ltrc, file=pathlib.Path(__file__).parent / "terminal.svg"):
    ltrc = pathlib.Path(ltrc).resolve()
    lines = []
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        shown(folder, ltrc, "new", "my_first")
        source = folder / "my_first.ltr"
        right = source.read_text()
        source.write_text(right.replace("cross_entropy(net(x), species)", "cross_entropy(softmax(net(x), 1), species)", 1))
        lines += ["\x1b[1m$ ltrc check my_first.ltr\x1b[0m", *shown(folder, ltrc, "check", "--color=always", "my_first.ltr"), ""]
        source.write_text(right)
        run = shown(folder, ltrc, "run", "my_first.ltr", "fit", "--no-bar", "--epochs", 20)
        lines += ["\x1b[1m$ ltrc run my_first.ltr fit --epochs 20\x1b[0m", *run[:9], "…", *run[-4:]]
    columns = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines)
    width, height = int(columns * CHARACTER) + 28, 26 + len(lines) * LINE
    body = "\n".join(svg_line(line, number) for number, line in enumerate(lines))
    pathlib.Path(file).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#1e2228"/>\n'
        f'<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" fill="#d7dae0">\n{body}\n</g>\n</svg>\n')


main(*sys.argv[1:])
