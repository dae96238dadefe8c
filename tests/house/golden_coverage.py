"""Every diagnostic is expected somewhere below tests/: in a CHECK line, or by a `test … fails CODE` in a program.
What cannot hold is listed, with its reason, in exempt.txt; the list only shrinks.

    golden_coverage.py SOURCE_DIR LTRC
"""
import pathlib
import re
import sys

from explain_pages import codes_of, exemptions

EXPECTED = re.compile(r"CHECK[A-Z-]*:.*(?:error|warning)\\?\[([A-Z]\d+)\\?\]|^test \".*\" fails ([A-Z]\d+)\b",
                      re.MULTILINE)


def main(source, _ltrc=None):
    source = pathlib.Path(source)
    codes = codes_of(*sorted((source / "dsl/diagnostics/table").glob("*.def")))
    exempt = exemptions(source, "golden_coverage")
    covered = set()
    for path in (source / "tests").rglob("*"):
        if path.suffix in (".ltr", ".test"):
            covered.update(code for found in EXPECTED.findall(path.read_text(errors="replace")) for code in found)
    lines = [f"{code} occurs in no test" for code in codes if code not in covered and code not in exempt]
    lines += [f"{code} is exempt, but there is no need: take its line out of exempt.txt" for code in exempt
              if code in covered or code not in codes]
    print("\n".join(lines + [f"{len(codes)} codes, {len(exempt)} exempt, {len(lines)} faults"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
