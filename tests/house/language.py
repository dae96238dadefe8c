"""docs/language explains every word of the language: keywords, signs, units, types, settings, hooks, names of places; `ltrc doc`
finds each, and all links of the docs lead somewhere.

    language.py SOURCE_DIR LTRC
"""
import pathlib
import re
import subprocess
import sys

from support.tokens import TokenTable
from support.words import tables_of

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def faults_of_links(source):
    pages = sorted((source / "docs").rglob("*.md"))
    texts = {page.resolve(): page.read_text() for page in pages}
    anchors = {page: {anchor(line) for line in re.findall(r"^#+ (.+)$", text, re.M)} for page, text in texts.items()}
    for page, text in texts.items():
        for target, section in LINK.findall(CODE.sub("", text)):
            if "://" in target:
                continue
            path = (page.parent / target).resolve() if target else page
            if not path.exists():
                yield f"{page.relative_to(source)}: no {target}"
            elif section and section not in anchors.get(path, ()):
                yield f"{page.relative_to(source)}: {target or page.name} has no #{section}"


def main(source, ltrc):
    source = pathlib.Path(source).resolve()
    words = TokenTable(source / "dsl/lex/token_kind.def").spellings.union(*tables_of(source).values())
    listed = subprocess.run([ltrc, "doc"], capture_output=True, text=True, check=True).stdout
    known = {word for line in listed.splitlines() for word in line.partition(": ")[2].split() or line.split()}
    faults = [f"`ltrc doc` does not know {word}" for word in sorted(words - known)]
    faults += faults_of_links(source)
    long = [page.name for page in (source / "docs/language").glob("*.md") if page.read_text().count("\n") > 500]
    faults += [f"docs/language/{name} has more than 500 lines" for name in long]
    for page in sorted((source / "docs/language").glob("*.md")):
        if page.name != "README.md" and not re.match(r"# .+\n\n```ltr\n", page.read_text()):
            faults.append(f"docs/language/{page.name} does not begin with an example")
    print("\n".join(faults + [f"{len(words)} words, {len(faults)} faults"]))
    return 1 if faults or len(words) < 200 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
