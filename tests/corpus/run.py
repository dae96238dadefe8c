"""Checks the corpus: every mistake is reported where and as its program says, and nothing else is.

    python3 tests/corpus/run.py --ltrc build/release/bin/ltrc [--only 'mistakes/e03*']

A guilty line ends in `# ! E0304`, the code, or in `# ! E04 schedule`, a range and a word of the
message, its labels, notes or help. `E02|E0301` leaves the choice, `@24` fixes the column, `fix` asks
for a fix; any fix that is offered must cure. Lines with `# !~ …` are places of one mistake: a single
diagnostic on any of them is right. Whatever is not announced fails, warnings too. There are no exceptions.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = 5.0


def expectations(text):
    """The announced mistakes: a list of (lines, codes, column, word, wants a fix)."""
    single, group = [], None
    for number, line in enumerate(text.split(b"\n"), 1):
        found = re.search(r"# !(~?) (\S+)(.*)$", line.decode("utf-8", "replace"))
        if not found:
            continue
        words = found.group(3).split()
        column = next((int(w[1:]) for w in words if re.fullmatch(r"@\d+", w)), None)
        fix = "fix" in words
        words = [w for w in words if w != "fix" and not re.fullmatch(r"@\d+", w)]
        lines = [number]
        if found.group(1) and group is not None:
            group[0].append(number)
            continue
        entry = (lines, found.group(2).split("|"), column, " ".join(words), fix)
        group = entry if found.group(1) else group
        single.append(entry)
    return single


def check(ltrc, path):
    """Runs `ltrc check` and gives (diagnostics, complaint)."""
    start = time.monotonic()
    try:
        done = subprocess.run([ltrc, "check", "--message-format=json", path],
                              cwd=os.path.dirname(path), capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return [], "no end after 60 s"
    took = time.monotonic() - start
    found = []
    for line in (done.stdout + b"\n" + done.stderr).split(b"\n"):
        if line.startswith(b"{"):
            try:
                found.append(json.loads(line))
            except ValueError:
                return found, f"not JSON: {line[:80]!r}"
    found = [d for d in found if d.get("severity") in ("error", "warning")]
    if done.returncode not in (0, 1):
        last = done.stderr[-200:].decode("utf-8", "replace").strip()
        return found, f"exit {done.returncode}: {last}"
    if done.returncode != any(d["severity"] == "error" for d in found):
        return found, f"exit {done.returncode} with {len(found)} diagnostics"
    if took > LIMIT_S:
        return found, f"took {took:.1f} s"
    return found, None


def shown(d):
    return f"{d['code']} {d['line']}:{d['column']} {d['message']}"


def said(d):
    parts = [d["message"], d.get("help") or ""]
    parts += [n if isinstance(n, str) else n.get("message", "") for n in d.get("notes") or []]
    parts += [label.get("message", "") for label in d.get("labels") or []]
    return " ".join(parts).lower()


def code_fits(code, wanted):
    return any(code == w or (len(w) <= 3 and code.startswith(w)) for w in wanted)


def fix_works(ltrc, path, text, diagnostic):
    """Applies the fix beside the program's copy, where its imports hold: is the mistake gone?"""
    edits = sorted(diagnostic.get("fix") or [], key=lambda e: -e["start"])
    for e in edits:
        text = text[:e["start"]] + e["text"].encode() + text[e["end"]:]
    folder = os.path.dirname(path)
    with tempfile.NamedTemporaryFile(suffix=".ltr", dir=folder, prefix=".fixed-") as out:
        out.write(text)
        out.flush()
        left, complaint = check(ltrc, out.name)
    if complaint:
        return False
    same = ("code", "line", "message")
    return not any(all(d[k] == diagnostic[k] for k in same) for d in left)


def judge(ltrc, path):
    """The failures of one program, none when it is right."""
    with open(path, "rb") as file:
        text = file.read()
    wanted = expectations(text)
    found, complaint = check(ltrc, path)
    if complaint:
        return [complaint]
    failures, left = [], list(found)
    for lines, codes, column, word, fix in wanted:
        at_line = [d for d in left if d["line"] in lines]
        right = [d for d in at_line if code_fits(d["code"], codes) and word.lower() in said(d)]
        name = f"{'|'.join(codes)} {word}".strip() + f" at line {'/'.join(map(str, lines))}"
        if not right:
            wrong_line = [
                d for d in left if code_fits(d["code"], codes) and word.lower() in said(d)
            ]
            if at_line:
                failures.append(f"wrong code or words: {name}, got {shown(at_line[0])}")
                left.remove(at_line[0])
            elif wrong_line:
                failures.append(f"wrong line: {name}, got {shown(wrong_line[0])}")
                left.remove(wrong_line[0])
            else:
                failures.append(f"missing: {name}")
            continue
        d = right[0]
        left.remove(d)
        if column and d["column"] != column:
            failures.append(f"wrong column: {name} wants {column}, got {shown(d)}")
        if fix and not d.get("fix"):
            failures.append(f"no fix: {shown(d)}")
        elif d.get("fix") and not fix_works(ltrc, path, text, d):
            failures.append(f"fix does not cure: {shown(d)}")
    kind = "cascade" if wanted else "false alarm"
    return failures + [f"{kind}: {shown(d)}" for d in left]


def main():
    parser = argparse.ArgumentParser(description="Checks the corpus of programs.")
    parser.add_argument("--ltrc", required=True)
    parser.add_argument("--only", default="*", help="glob on FOLDER/NAME without the ending")
    arguments = parser.parse_args()
    ltrc = os.path.abspath(arguments.ltrc)

    names = []
    for folder in ("mistakes", "several", "accepted"):
        for file in sorted(os.listdir(os.path.join(HERE, folder))):
            if file.endswith(".ltr") and not file.startswith("."):
                names.append(f"{folder}/{file[:-4]}")
    bad = False
    names = [n for n in names if fnmatch.fnmatch(n, arguments.only)]
    with tempfile.TemporaryDirectory() as place, concurrent.futures.ThreadPoolExecutor(2) as pool:
        corpus = shutil.copytree(HERE, os.path.join(place, "corpus"))
        results = list(pool.map(lambda n: judge(ltrc, os.path.join(corpus, n + ".ltr")), names))
    table = {}
    for name, failures in zip(names, results):
        row = table.setdefault(name.split("/")[0], [0, 0])
        row[0] += not failures
        row[1] += 1
        for failure in failures:
            bad = True
            print(f"{name}: {failure}")
    for folder, (passed, total) in table.items():
        print(f"{folder:<10} {passed} of {total}")
    return 1 if bad or not names else 0


if __name__ == "__main__":
    sys.exit(main())
