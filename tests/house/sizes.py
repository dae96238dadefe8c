"""No source file has more than 500 lines, no function of C++ more than 100: what grows beyond is two things.

    sizes.py SOURCE_DIR LTRC
"""
import pathlib
import re
import subprocess
import sys

LIMIT = 500
KINDS = ("*.cpp", "*.h", "*.inc", "*.def", "*.py", "*.ltr", "*.cmake", "CMakeLists.txt", "bootstrap", ".ci/run")
# One case after the other, each with its figures; one prototype after the other, written from declarations.
TABLES = ("tests/parity/library.ltr", "tests/parity/metrics.ltr", "runtime/api/ltr/ops.h")
LONGEST = 100
# One switch, whose cases are a table.
LONG_FUNCTIONS = {"runtime/plan/cpu/lower/elements.cpp": "lower_elements"}
# What a closing brace may also belong to.
NO_FUNCTION = re.compile(r"(namespace|struct|class|union|enum|extern|if|else|for|while|do|switch|case|default|try)\b|[{}]")


def functions(text):
    """Pairs of first line and length. clang-format sets a closing brace as deep as the line that its function begins with."""
    heads, is_macro = {}, False
    for number, line in enumerate(text.split("\n")):
        bare = line.strip()
        depth = len(line) - len(line.lstrip())
        was_macro, is_macro = is_macro, line.endswith("\\")
        if not bare or was_macro or bare.startswith("#"):
            continue
        if bare == "}" and depth in heads:
            begin, head = heads[depth]
            if not NO_FUNCTION.match(head):
                yield head, number - begin + 1
        heads[depth] = number, bare


def long_functions(source, names):
    count = 0
    for name in names:
        # A case of a test may list its values.
        if not name.endswith((".cpp", ".h")) or name.endswith("_test.cpp"):
            continue
        for head, length in functions((source / name).read_text()):
            count += 1
            if length > LONGEST and LONG_FUNCTIONS.get(name, " ") not in head:
                yield f"{name}: {length} lines of {head}"
    if count < 5000:
        yield f"{count} functions only: they have another form now"


def main(source, ltrc):
    source = pathlib.Path(source).resolve()
    listed = subprocess.run(["git", "-C", source, "ls-files", "--", *KINDS], capture_output=True, text=True)
    if listed.returncode != 0:
        print("not a checkout")
        return 77
    names = [name for name in listed.stdout.split("\n") if name and (source / name).is_file()]
    lines = {name: (source / name).read_bytes().count(b"\n") for name in names}
    long = [f"{name}: {lines[name]} lines" for name in names if lines[name] > LIMIT and name not in TABLES]
    long += long_functions(source, names)
    print("\n".join(long + [f"{len(names)} files, {len(long)} too long"]))
    return 1 if long or len(names) < 500 else 0


sys.exit(main(*sys.argv[1:]))
