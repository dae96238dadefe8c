#!/usr/bin/env python3
"""Rewrites the expectations of golden tests from what the compiler says now; the diff is reviewed like code.

    tests/update.py [--ltrc PATH] PATH…

`# RUN: %fails %s` and `%check %s`: a CHECK line behind each line that a diagnostic points at. `%cures %s`: the help, too.
`# RUN: %dump WHAT %s`: the whole dump at the end of the file.
`# RUN: %lower %s`: what lowering makes of the functions of the program, those of the library left out, likewise.
`# RUN: %fmt %s`: the formatted text in Expected/.
Other tests are left alone. Exit status 1 if a program is not refused, or not accepted, as its RUN line says.
"""
import argparse
import json
import os
import re
import subprocess
import sys

CHECK = re.compile(r"^\s*# CHECK(-NEXT|-EMPTY)?:")
RUN = re.compile(r"^# RUN: (%fails|%cures|%check|%lower|%dump (\w+)) %s\s*$")
PLACE = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+):(?P<rest>\d+: (error|warning)\[.*)$")


def escape(text):
    """FileCheck reads `[[…]]` and `{{…}}`."""
    return re.sub(r"(\[\[|\{\{)", lambda m: "{{" + re.escape(m.group(1)) + "}}", text)


def run_compiler(arguments, path):
    folder, name = os.path.split(os.path.abspath(path))
    return subprocess.run([*arguments, name], cwd=folder, capture_output=True, text=True)


def expectations_of_dump(lines, ltrc, path, what):
    result = run_compiler([ltrc, "dump", what], path)
    out = [f"# CHECK{'' if i == 0 else '-NEXT'}:{escape(line)}" for i, line in enumerate(result.stdout.splitlines())]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines + [""] + out, result.returncode == 0


def expectations_of_lowering(lines, ltrc, path):
    result = run_compiler([ltrc, "dump", "ir", "--dump-after=lower"], path)
    while lines and not lines[-1].strip():
        lines.pop()
    for function in result.stdout.split("\n\n")[1:]:
        head, *rest = function.rstrip("\n").split("\n")
        if re.search(r" library\b[a-z ]*{$", head):
            continue
        # Where a default stands in the library is not what the test is about.
        texts = [re.sub(r"loc\(\d+:\d+:\d+\)", "loc({{[0-9:]+}})", escape(line)) for line in (head, *rest)]
        lines += ["", f"# CHECK:{texts[0]}"] + [f"# CHECK-NEXT:{text}" for text in texts[1:]]
    return lines, result.returncode == 0


def expectations_of_diagnostics(lines, ltrc, path, command, phase):
    result = run_compiler([ltrc, *phase, "--message-format=short"], path)
    behind = {}
    for text in (result.stdout + result.stderr).splitlines():
        found = PLACE.match(text)
        if found and found["file"] == os.path.basename(path):
            behind.setdefault(int(found["line"]), []).append(found)
    out = []
    for number, line in enumerate(lines, 1):
        out.append(line)
        for back, found in enumerate(behind.get(number, []), 1):
            indent = re.match(r"\s*", line).group()
            out.append(f"{indent}# CHECK: {found['file']}:[[#@LINE-{back}]]:{escape(found['rest'])}")
    return out, (result.returncode != 0) == (command == "%fails")


def expectations_of_cures(lines, ltrc, path):
    result = run_compiler([ltrc, "check", "--message-format=json"], path)
    behind = {}
    for text in result.stdout.splitlines():
        found = json.loads(text)
        behind.setdefault(found["line"], []).append(found)
    out = []
    for number, line in enumerate(lines, 1):
        out.append(line)
        indent = re.match(r"\s*", line).group()
        back = 1
        for found in behind.get(number, []):
            out.append(f"{indent}# CHECK: {found['severity']}[{found['code']}]: {escape(found['message'])}")
            out.append(f"{indent}# CHECK-NEXT: --> {os.path.basename(path)}:[[#@LINE-{back + 1}]]:{found['column']}")
            helps = (found["help"] or "").splitlines()
            out += [f"{indent}# CHECK: = help: {escape(text)}" for text in helps]
            back += 2 + len(helps)
    return out, result.returncode != 0


def update_format(path, ltrc):
    result = run_compiler([ltrc, "fmt", "--stdout"], path)
    expected = os.path.join(os.path.dirname(path), "Expected", os.path.basename(path))
    os.makedirs(os.path.dirname(expected), exist_ok=True)
    old = open(expected, encoding="utf-8").read() if os.path.exists(expected) else None
    if result.returncode == 0 and result.stdout != old:
        with open(expected, "w", encoding="utf-8") as file:
            file.write(result.stdout)
        print(f"updated {expected}")
    return result.returncode == 0


def update(path, ltrc):
    with open(path, encoding="utf-8", newline="") as file:
        old = file.read()
    if re.search(r"^\ufeff?# RUN: %fmt %s", old, re.MULTILINE):
        return update_format(path, ltrc)
    run = next((m for m in map(RUN.match, old.split("\n")) if m), None)
    if not run:
        return True
    lines = [line for line in old.rstrip("\n").split("\n") if not CHECK.match(line)]
    with open(path, "w", encoding="utf-8", newline="") as file:  # Line numbers are those without CHECK lines.
        file.write("\n".join(lines) + "\n")
    if run[1] == "%lower":
        lines, is_right = expectations_of_lowering(lines, ltrc, path)
    elif run[1] == "%cures":
        lines, is_right = expectations_of_cures(lines, ltrc, path)
    elif run[2]:
        lines, is_right = expectations_of_dump(lines, ltrc, path, run[2])
    else:
        is_early = re.search(r"(^|/)tests/(lex|parse)/", os.path.abspath(path))
        phase = ["dump", "ast"] if is_early else ["check"]
        lines, is_right = expectations_of_diagnostics(lines, ltrc, path, run[1], phase)
    new = "\n".join(lines) + "\n"
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(new)
    if new != old:
        print(f"updated {path}")
    if not is_right:
        print(f"{path}: {run[1]} does not hold", file=sys.stderr)
    return is_right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ltrc", default=os.environ.get("LTRC", "ltrc"))
    parser.add_argument("paths", nargs="+")
    arguments = parser.parse_args()
    files = []
    for path in arguments.paths:
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if name not in ("Inputs", "Expected"))
            files += [os.path.join(folder, name) for name in sorted(names) if name.endswith(".ltr")]
        if os.path.isfile(path):
            files.append(path)
    results = [update(path, os.path.abspath(arguments.ltrc)) for path in files]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
