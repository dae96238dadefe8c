"""docs/reference/ is what `ltrc doc std --markdown` writes, every public declaration of stdlib/ has a doc comment and
appears there, and all its links lead somewhere.

    reference.py SOURCE_DIR LTRC
"""
import pathlib
import re
import subprocess
import sys
import tempfile

DECLARATION = re.compile(r"^(?:(?P<extern>  fn)|fn|block|metric|model|data|callback|const|hparam)\s+(?P<name>[A-Za-z]\w*)")
LINK = re.compile(r"\]\(([^)#]+)(?:#([^)]+))?\)")


def declarations(path):
    """Names with whether the line above is a doc comment."""
    lines, in_extern = path.read_text().splitlines(), False
    for number, line in enumerate(lines):
        in_extern = line.startswith("extern ") or (in_extern and not line.startswith("}"))
        found = DECLARATION.match(line)
        if found and (found["extern"] is None or in_extern):
            yield found["name"], number > 0 and lines[number - 1].lstrip().startswith("##")


def main(source, ltrc):
    source = pathlib.Path(source)
    committed = source / "docs/reference"
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ltrc, "doc", "std", "--markdown", folder], check=True)
        fresh = {path.name: path.read_text() for path in pathlib.Path(folder).iterdir()}
    kept = {path.name: path.read_text() for path in committed.glob("*.md")}
    for name in sorted({*fresh, *kept}):
        if fresh.get(name) != kept.get(name):
            faults.append(f"docs/reference/{name} is not up to date: ltrc doc std --markdown docs/reference")
    headings = {name: {re.sub(r"[\\.]", "", title).lower() for title in re.findall(r"^### (.+)$", text, re.MULTILINE)}
                for name, text in fresh.items()}
    count = 0
    for path in sorted((source / "stdlib").rglob("*.ltr")):
        page = path.relative_to(source / "stdlib").parent.as_posix().replace("/", "_") + ".md"
        for name, has_doc in declarations(path):
            count += 1
            if not has_doc:
                faults.append(f"{path.relative_to(source)}: `{name}` has no doc comment")
            if name.lower() not in headings.get(page, ()):
                faults.append(f"{path.relative_to(source)}: `{name}` is not in docs/reference/{page}")
    links = LINK.findall(fresh["README.md"])
    faults += [f"docs/reference/README.md: the link {target}#{anchor} leads nowhere" for target, anchor in links
               if target not in fresh or (anchor and anchor not in headings[target])]
    if len(links) < count:
        faults.append(f"docs/reference/README.md links to {len(links)} of {count} declarations")
    print("\n".join(faults + [f"{count} declarations, {len(fresh)} pages, {len(faults)} faults"]))
    return 1 if faults or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
