#!/usr/bin/env python3
"""Writes the word lists of the editor files anew, from the tables of the compiler and the library.

    generate.py SOURCE_DIR [--check]

In `syntaxes/ltr.tmLanguage.json` the patterns whose `comment` begins with `generated:` are replaced; in
`syntax/ltr.vim` the lines between `" generated: begin` and `" generated: end`. `--check` writes nothing and fails
if something would change. The target `editors` of the build runs it.
"""
import json
import pathlib
import re
import sys

# Types of the language that no table holds, because each has a grammar of its own.
APPLIED_TYPES = ["list", "option", "one_of", "series", "weights"]
DECLARING = re.compile(r"^(?:  )?(fn|block|model|metric|callback|data)\s+([A-Za-z]\w*)", re.M)


def place_functions(source):
    """Those that stand in tests and hooks only, and are part of the language."""
    text = (source / "dsl/check/scope/places.h").read_text()
    return set(re.findall(r'^    \{"(\w+)", ".*", PlaceFunction::', text, re.M))


def words_of(source):
    tokens = (source / "dsl/lex/token_kind.def").read_text()
    types = (source / "dsl/check/host_types.h").read_text()
    elements = re.findall(r"^LTR_ELEMENT\(\w+, (\w+),", (source / "runtime/tables/elements.def").read_text(), re.M)
    functions, blocks = set(), set()
    for path in sorted((source / "stdlib").rglob("*.ltr")):
        text = path.read_text()
        # Functions of blocks are indented as those of `extern` are, but are no names of the library.
        for section in re.split(r"^(?=\S)", text, flags=re.M):
            for word, name in DECLARING.findall(section):
                is_inner = word == "fn" and section.startswith("  ") or (
                    word == "fn" and not section.startswith(("fn", "extern")))
                if not is_inner:
                    (functions if word == "fn" and name[0].islower() else blocks).add(name)
    keywords = re.findall(r'^LTR_KEYWORD\(\w+,\s*"(\w+)"\)', tokens, re.M)
    reserved = re.findall(r'^LTR_RESERVED\(\w+,\s*"(\w+)"\)', tokens, re.M)
    constants = ["true", "false", "none"]
    functions |= place_functions(source)
    types = {*re.findall(r'HostType\{"(\w+)", Kind::', types), *elements, *APPLIED_TYPES} - {"number"}
    return {
        "keywords": keywords,
        "reserved": [word for word in reserved if word not in constants],
        "constants": constants,
        "units": re.findall(r'^LTR_UNIT\("(\w+)"', (source / "dsl/host/unit.def").read_text(), re.M),
        "hooks": re.findall(r"^LTR_HOOK\((\w+),", (source / "runtime/tables/hooks.def").read_text(), re.M),
        "settings": re.findall(r"^LTR_(?:TRAINER|TOPOLOGY|FORM)\((\w+),", (source / "runtime/tables/settings.def").read_text(), re.M),
        "types": sorted(word for word in types - set(keywords) if not word.endswith("_fn")),
        "functions": sorted(functions),
        "blocks": sorted(blocks),
    }


def text_mate(text, words):
    grammar = json.loads(text)
    joined = {name: "|".join(sorted(list_, key=lambda word: (-len(word), word))) for name, list_ in words.items()}
    shapes = {
        # Contextual: a word that is assigned, called, or ends a list is a name there.
        "keywords": r"(?<![.\w])(?:(?:return|yield|assert|print|minimize|backward)\b|(?:{})\b(?!\s*[=(.,:)\]]))",
        "reserved": r"(?<![.\w])(?:{})\b",
        "constants": r"(?<![.\w])(?:{})\b",
        "types": r"(?<![.\w])(?:{})\b(?!\s*\()",
        "functions": r"\b(?:{})\b(?=\s*\()|(?<=\|>\s)(?:{})\b",
        "blocks": r"(?<![.\w])(?:{})\b(?=\s*\()",
        "hooks": r"\b(on)\s+({})\b",
        "units": r"(?<![.\w])(\d[\d_]*(?:\.\d+)?)\s+({})\b",
        "settings": r"\b(?:{})\b(?=\s*=(?!=))",
    }
    for pattern in grammar["repository"].values():
        name = pattern.get("comment", "")
        if name.startswith("generated: "):
            name = name.removeprefix("generated: ")
            pattern["match"] = shapes[name].replace("{}", joined[name])
    return json.dumps(grammar, indent=2) + "\n"


def vim(text, words):
    groups = {"keywords": "ltrKeyword", "reserved": "ltrOperatorWord", "constants": "ltrConstant", "types": "ltrType",
              "functions": "ltrFunction", "blocks": "ltrBlock", "hooks": "ltrHook"}
    # A `syntax keyword` has one colour everywhere; words that are both are told apart by what follows.
    both = {*words["keywords"]} & {*words["functions"]}
    choice = "|".join(sorted(both))
    lines = []
    for name, group in groups.items():
        taken = {"keywords": both, "functions": both | {*words["types"]}}.get(name, set())
        line = f"syntax keyword {group}"
        for word in [word for word in words[name] if word not in taken]:
            if len(line) + len(word) > 110:
                lines.append(line)
                line = f"syntax keyword {group}"
            line += " " + word
        lines.append(line)
    lines.append(rf"syntax match ltrKeyword '\v<({choice})>(\s*\()@!'")
    lines.append(rf"syntax match ltrFunction '\v<({choice})>(\s*\()@='")
    lines.append(r"syntax match ltrSetting '\v<(%s)>(\s*\=[^=])@='" % "|".join(words["settings"]))
    lines.append(r"syntax match ltrUnit '\v(\d\s+)@<=(%s)>'" % "|".join(words["units"]))
    region = re.compile(r'(?<=^" generated: begin\n).*?(?=^" generated: end$)', re.M | re.S)
    assert region.search(text), "ltr.vim has no generated lines"
    return region.sub(lambda _: "\n".join(lines) + "\n", text)


def main(source, mode=""):
    source = pathlib.Path(source)
    words = words_of(source)
    empty = [name for name, list_ in words.items() if not list_]
    assert not empty, f"no {empty} found: a table has another form now"
    drifted = []
    for path, renew in ((source / "editors/vscode/syntaxes/ltr.tmLanguage.json", text_mate),
                        (source / "editors/vim/syntax/ltr.vim", vim)):
        old = path.read_text()
        new = renew(old, words)
        if new == old:
            continue
        drifted.append(str(path.relative_to(source)))
        if mode != "--check":
            path.write_text(new)
    verb = "drifted from the tables" if mode == "--check" else "written"
    print("\n".join(f"{path}: {verb}" for path in drifted) or "the editor files are as the tables say")
    return 1 if drifted and mode == "--check" else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
