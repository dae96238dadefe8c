"""Every public declaration of the standard library has a doc comment, and a test that mentions it: in its own file, or, for
what only a run can show (data, callbacks, loggers, schedules, sweep, trainer, vision), in a program of tests/ or examples/, a unit test of
the runtime, or a script of tests/run. The table of optimizers names each declared one, with its defaults. Tests of a library file stand behind the line `# ---- tests`, which is where the compiler stops embedding it.

    stdlib.py SOURCE_DIR LTRC
"""
import pathlib
import re
import sys

NEEDS_A_RUN = {"data", "callbacks", "loggers", "schedules", "sweep", "trainer", "vision"}
MARK = "\n# ---- tests\n"
DECLARATION = re.compile(r"((?:^[ ]*##[^\n]*\n)*)^([ ]*)(?:fn|block|metric|model|data|const|callback) (\w+)", re.MULTILINE)


def declarations(text):
    """(name, has doc) of what a file declares for others: at its top, or in an `extern` block."""
    for match in DECLARATION.finditer(text):
        doc, indent, name = match.groups()
        is_member = indent and 'extern "runtime" {' not in text
        if not name.startswith("_") and not is_member:
            yield name, bool(doc)


def optimizer_faults(source):
    """Where runtime/tables/rules.def and the declarations in stdlib/optim say something else."""
    rows = {name: tuple(map(float, numbers)) for name, *numbers in
            re.findall(r"^LTR_RULE\((\w+), *\w+, *([\d.e-]+), *([\d.e-]+)", (source / "runtime/tables/rules.def").read_text(), re.MULTILINE)}
    declared = {}
    for path in (source / "stdlib/optim").glob("*.ltr"):
        for name, params in re.findall(r"fn (\w+)\((weights: weights,.*?)\)\s*-> optimizer", path.read_text(), re.DOTALL):
            numbers = [re.search(rf"\b{one}: float = ([\d.e-]+)", params) for one in ("lr", "weight_decay")]
            declared[name] = tuple(float(number[1]) if number else 0.0 for number in numbers)
    return [f"runtime/tables/rules.def: {name}: lr and weight_decay are {rows.get(name)}, stdlib/optim says {declared.get(name)}"
            for name in sorted(rows.keys() | declared.keys()) if rows.get(name) != declared.get(name)]


def call_faults(source):
    """Where the calls that the command line reads and the declarations in stdlib/trainer and stdlib/sweep say something else."""
    listed = (source / "runtime/settings/value_text.cpp").read_text()
    listed = listed[listed.index("forms = {"):listed.index("return forms")]
    rows = {name: [tuple(re.findall(r'"([^"]*)"', param)) for param in re.findall(r"\{((?:\"[^\"]*\"(?:, )?)+)\}", params)]
            for name, params in re.findall(r'^ +\{"(\w+)", \{(.*)\}\},$', listed, re.MULTILINE)}
    declared = {}
    for path in [*(source / "stdlib/trainer").glob("*.ltr"), *(source / "stdlib/sweep").glob("*.ltr")]:
        for name, params in re.findall(r"fn (\w+)\((.*)\) ->", path.read_text()):
            found = re.findall(r"(\w+): (list\[\(.*?\)\]|\w+)(?: = (\S+?))?(?:, |$)", params)
            declared[name] = [tuple(part for part in param if part) for param in found]
    declared.pop("asha")  # of the program alone
    return [f"runtime/settings/value_text.cpp: {name} takes {rows.get(name)}, the library says {declared.get(name)}"
            for name in sorted(rows.keys() | declared.keys()) if rows.get(name) != declared.get(name)]


def main(source, _ltrc=None):
    source = pathlib.Path(source)
    files = sorted((source / "stdlib").rglob("*.ltr"))
    elsewhere = [p.read_text(errors="replace") for p in [*(source / "tests").rglob("*.ltr"), *(source / "tests/run").rglob("*.py"),
                                                         *(source / "examples").glob("*.ltr"), *(source / "runtime").rglob("*_test.cpp")]]
    words = {word for text in elsewhere for word in re.findall(r"\w+", text)}
    faults, count = optimizer_faults(source) + call_faults(source), 0
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
