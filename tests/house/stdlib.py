"""Every public declaration of the standard library has a doc comment, and a test that mentions it: in its own file, or, for
what only a run can show (data, callbacks, loggers, schedules, vision), in a program of tests/ or examples/, a unit test of
the runtime, or a script of tests/run. Tests of a library file stand behind the line `# ---- tests`, which is where the compiler stops embedding it.

    stdlib.py SOURCE_DIR LTRC
"""
import pathlib
import re
import sys

NEEDS_A_RUN = {"data", "callbacks", "loggers", "schedules", "vision"}
MARK = "\n# ---- tests\n"
DECLARATION = re.compile(r"((?:^[ ]*##[^\n]*\n)*)^([ ]*)(?:fn|block|metric|model|data|const|callback) (\w+)", re.MULTILINE)


def declarations(text):
    """(name, has doc) of what a file declares for others: at its top, or in an `extern` block."""
    for match in DECLARATION.finditer(text):
        doc, indent, name = match.groups()
        is_member = indent and 'extern "runtime" {' not in text
        if not name.startswith("_") and not is_member:
            yield name, bool(doc)


def main(source, _ltrc=None):
    source = pathlib.Path(source)
    files = sorted((source / "stdlib").rglob("*.ltr"))
    elsewhere = [p.read_text(errors="replace") for p in [*(source / "tests").rglob("*.ltr"), *(source / "tests/run").rglob("*.py"),
                                                         *(source / "examples").glob("*.ltr"), *(source / "runtime").rglob("*_test.cpp")]]
    words = {word for text in elsewhere for word in re.findall(r"\w+", text)}
    faults, count = [], 0
    for path in files:
        text, mark, tests = path.read_text().partition(MARK)
        place = path.relative_to(source)
        if re.search(r'^test "', text, re.MULTILINE):
            faults.append(f"{place}: a test stands before `{MARK.strip()}`, where it would be embedded")
        if mark and not re.search(r'^test "', tests, re.MULTILINE):
            faults.append(f"{place}: no test stands behind `{MARK.strip()}`")
        tested = set(re.findall(r"\w+", tests))
        for name, has_doc in declarations(text):
            count += 1
            if not has_doc:
                faults.append(f"{place}: {name} has no doc comment")
            is_mentioned = name in tested or (path.parent.name in NEEDS_A_RUN and name in words)
            if not is_mentioned:
                faults.append(f"{place}: no test mentions {name}")
    print("\n".join(faults + [f"{count} declarations in {len(files)} files, {len(faults)} faults"]))
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
