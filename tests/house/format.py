"""Every program of this repository that parses: formatting it twice gives the same as once, and the same tree. The
library, the examples and the starters are formatted already.

    format.py SOURCE_DIR LTRC
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

PLACE = re.compile(r" \d+:\d+-\d+:\d+$", re.MULTILINE)
TIDY = ("stdlib", "examples", "bench", "ltrc/starters")


def tree(ltrc, folder, name):
    done = subprocess.run([ltrc, "dump", "ast", name], cwd=folder, capture_output=True, text=True)
    return PLACE.sub("", done.stdout)


def fault_of(path, source, ltrc):
    """None: not a program that parses. Empty: all is well."""
    once = subprocess.run([ltrc, "fmt", "--stdout", path], capture_output=True)
    if once.returncode != 0:
        return None if once.returncode == 1 else f"{path}: exit status {once.returncode}"
    twice = subprocess.run([ltrc, "fmt", "-"], input=once.stdout, capture_output=True)
    if twice.stdout != once.stdout:
        return f"{path}: formatting the formatted text changes it"
    if any(path.is_relative_to(source / folder) for folder in TIDY) and once.stdout != path.read_bytes():
        return f"{path}: not formatted; `ltrc fmt {path}` does it"
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / path.name).write_bytes(once.stdout)
        if tree(ltrc, folder, path.name) != tree(ltrc, path.parent, path.name):
            return f"{path}: the formatted text means something else"
    return ""


def main(source, ltrc):
    source = pathlib.Path(source).resolve()
    listed = subprocess.run(["git", "-C", source, "ls-files", "*.ltr"], capture_output=True, text=True)
    paths = [source / name for name in listed.stdout.split()] if listed.returncode == 0 else [
        path for folder in ("tests", *TIDY) for path in sorted((source / folder).rglob("*.ltr"))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda path: fault_of(path, source, ltrc), paths))
    faults = [fault for fault in found if fault]
    checked = sum(fault is not None for fault in found)
    print("\n".join(faults + [f"{checked} of {len(paths)} programs parse, {len(faults)} faults"]))
    return 1 if faults or checked < 50 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
