"""Every word of the language stands in a program of docs/language that checks, in its meaning: hooks behind `on`, settings in a trainer
or topology, units behind a number, names of places in a callback. So does what headings there explain.

    examples.py SOURCE_DIR LTRC
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from support.pages import programs_of
from support.tokens import TokenTable, tokens_of
from support.words import tables_of

# Types that a program has values of, `monitor = val.loss`, `let seen = facts(rows)`, and that only the library takes.
GIVEN_ONLY = {"facts", "secret", "series", "tokenizer", "vocabulary"}
# What `ltrc doc` calls all of a kind.
KINDS = {"hooks"}
HEADING = re.compile(r"^#+ (.*`.*)$", re.M)
CODE = re.compile(r"^```.*?^```$", re.M | re.S)
SETTING = re.compile(r'^LTR_(TRAINER|TOPOLOGY|FORM|PART|SERVE)\("?([\w.]+)', re.M)


def settings_of(source):
    """Pairs of section and name; of what has a form of its own, such as `mesh.fsdp`, the parts."""
    rows = SETTING.findall((source / "runtime/tables/settings.def").read_text())
    return {(kind.lower() if kind in ("TRAINER", "SERVE") else "topology", part) for kind, name in rows for part in name.split(".")}


def uses_in(tokens):
    """What the words of a program are used as: pairs such as `("hooks", "run_start")`."""
    braces = []  # the word that each of those around began with
    entry = ""
    texts = [token.text for token in tokens]
    for before, text, behind in zip(["", *texts], texts, [*texts[1:], ""]):
        if before in ("{", ",", ";", ""):
            entry = text
        if text == "{":
            braces.append(entry)
        elif text == "}" and braces:
            braces.pop()
        yield "words", text
        if before == "on" and "callback" in braces:
            yield "hooks", text
        if before in ("{", "(", ",", ";", ""):
            yield from ((word, text) for word in braces)
        if before in (":", "->", "["):
            yield "types", text
        if behind == "(":
            yield "functions", text
        if "callback" in braces and before not in (".", ":", "->") and behind not in ("=", ":", "("):
            yield "places", text


def main(source, ltrc):
    source = pathlib.Path(source).resolve()
    table = TokenTable(source / "dsl/lex/token_kind.def")
    tables = tables_of(source)
    wanted = settings_of(source) | {("words", spelling) for spelling in table.spellings}
    for kind in ("units", "hooks", "types", "functions", "places"):
        wanted |= {(kind, word) for word in tables[kind]}
    used, programs = set(), 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.ltr"
        for page in sorted((source / "docs/language").glob("*.md")):
            headings = "\n".join(HEADING.findall(CODE.sub("", page.read_text())))
            explained = set(re.findall(r"`([A-Za-z_]\w*)`", headings)) - tables["units"]
            wanted |= {("words", word) for word in explained}
            for mark, text in programs_of(page):
                if mark[:1] == ["fails"]:
                    continue
                path.write_text(text)
                dump = subprocess.run([ltrc, "dump", "tokens", path], capture_output=True, text=True, check=True).stdout
                used |= set(uses_in(tokens_of(dump, table)))
                # A token has the unit that it is read as, `epochs` of `1 epoch`.
                used |= {("units", word) for word in re.findall(r"\d (\w+)", re.sub("#.*", "", text))}
                programs += 1
    wanted -= {("types", word) for word in GIVEN_ONLY} | {("words", word) for word in GIVEN_ONLY | KINDS}
    faults = [f"no program of docs/language has `{word}` ({kind})" for kind, word in sorted(wanted - used)]
    print("\n".join(faults + [f"{len(wanted)} words in {programs} programs, {len(faults)} without an example"]))
    return 1 if faults or len(wanted) < 250 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
