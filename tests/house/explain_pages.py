"""Every diagnostic has a page whose wrong program gives exactly that code and whose right one gives nothing; every
run-time error has a page. What cannot hold is listed, with its reason, in exempt.txt; the list only shrinks.

    explain_pages.py SOURCE_DIR LTRC
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

CODE = re.compile(r"^LTR_(?:DIAGNOSTIC|ERROR)\(([A-Z]\d+),", re.MULTILINE)
REPORTED = re.compile(r": (?:error|warning)\[([A-Z]\d+)\]")
CPP = re.compile(r"^```cpp (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM = re.compile(r"^## (Wrong|Right)\n\n```ltr\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def codes_of(*tables):
    return [code for table in tables for code in CODE.findall(table.read_text())]


def exemptions(source, script):
    """Lines `SCRIPT CODE reason`."""
    result = {}
    for line in (source / "tests/house/exempt.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, code, reason = line.split(maxsplit=2)
            if name == script:
                result[code] = reason
    return result


def diagnose(ltrc, path):
    result = subprocess.run([ltrc, "check", "--message-format=short", path.name], cwd=path.parent, capture_output=True,
                            text=True, timeout=60)
    found = REPORTED.findall(result.stdout + result.stderr)
    expected = 1 if any(code.startswith("E") for code in found) else 0
    return found if result.returncode == expected else [*found, f"exit status {result.returncode}"]


def faults_of_page(code, page, folder, ltrc):
    if not page.exists():
        return [f"{code} has no page {page.name}"]
    text = page.read_text()
    if not text.startswith(f"# {code}: "):
        return [f"{page.name} does not begin with `# {code}: `"]
    programs = dict(PROGRAM.findall(text))
    folder = folder / code
    folder.mkdir()
    for name, cpp in CPP.findall(text):
        (folder / name).write_text(cpp)
    faults = []
    for kind, expected in (("Wrong", [code]), ("Right", [])):
        if kind not in programs:
            faults.append(f"{page.name} has no program under `## {kind}`")
            continue
        path = folder / f"{code}_{kind.lower()}.ltr"
        path.write_text(programs[kind])
        found = diagnose(ltrc, path)
        if found != expected:
            faults.append(f"{page.name}: the {kind.lower()} program gives {', '.join(found) or 'nothing'}")
    return faults


def faults_of_error(code, page):
    return [] if page.exists() and page.read_text().startswith(f"# {code}: ") else [f"{code} has no page {page.name}"]


def main(source, ltrc):
    source = pathlib.Path(source)
    ltrc = str(pathlib.Path(ltrc).resolve())
    pages = source / "dsl/diagnostics/explain"
    error_pages = source / "runtime/api/explain"
    codes = codes_of(*sorted((source / "dsl/diagnostics/table").glob("*.def")))
    errors = codes_of(source / "runtime/api/error.def")
    exempt = exemptions(source, "explain_pages")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        checked = pool.map(lambda code: faults_of_page(code, pages / f"{code}.md", pathlib.Path(folder), ltrc), codes)
        faults = dict(zip(codes, checked))
    faults.update((code, faults_of_error(code, error_pages / f"{code}.md")) for code in errors)
    lines = [line for code, found in faults.items() if code not in exempt for line in found]
    lines += [f"{code} is exempt, but there is no need: take its line out of exempt.txt" for code in exempt
              if not faults.get(code)]
    known = [(page, codes) for page in pages.glob("*.md")] + [(page, errors) for page in error_pages.glob("*.md")]
    lines += [f"{page.name} explains a code that does not exist" for page, of in known if page.stem not in of]
    print("\n".join(lines + [f"{len(faults)} codes, {len(exempt)} exempt, {len(lines)} faults"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
