"""No source file has more than 500 lines: what grows beyond is two things.

    sizes.py SOURCE_DIR LTRC
"""
import pathlib
import subprocess
import sys

LIMIT = 500
KINDS = ("*.cpp", "*.h", "*.inc", "*.def", "*.py", "*.ltr", "*.cmake", "CMakeLists.txt", "bootstrap", ".ci/run")
# One case after the other, each with its figures; one prototype after the other, written from declarations.
TABLES = ("tests/parity/library.ltr", "tests/parity/metrics.ltr", "runtime/api/ltr/ops.h")


def main(source, ltrc):
    source = pathlib.Path(source).resolve()
    listed = subprocess.run(["git", "-C", source, "ls-files", "--", *KINDS], capture_output=True, text=True)
    if listed.returncode != 0:
        print("not a checkout")
        return 77
    names = [name for name in listed.stdout.split("\n") if name and (source / name).is_file()]
    lines = {name: (source / name).read_bytes().count(b"\n") for name in names}
    long = [f"{name}: {lines[name]} lines" for name in names if lines[name] > LIMIT and name not in TABLES]
    print("\n".join(long + [f"{len(names)} files, {len(long)} too long"]))
    return 1 if long or len(names) < 500 else 0


sys.exit(main(*sys.argv[1:]))
