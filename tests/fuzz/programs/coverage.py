"""What random programs are made of: which choices of the grammar's page, settings, hooks, sections and library functions occur
in them, and which never do."""
import re
import sys

from harness import LTRC, SOURCE, run

sys.path.append(str(SOURCE / "tests/house"))
from support.ebnf import Recognizer, choices, described, read_grammar  # noqa: E402
from support.tokens import TokenTable, tokens_of  # noqa: E402


def rows(path, pattern):
    found = re.findall(pattern, (SOURCE / path).read_text(), re.M)
    assert found, f"{path} has another form now"
    return found


# `"…"` without values is one token; only functions of the library take streams.
NEVER = {"string: { ( STR_TEXT | INTERP_BEGIN expr [ INTERP_FORMAT ] INTERP_END ) } is absent", 'type: "stream"'}


def library_names():
    """What programs may name: functions, blocks, metrics and callbacks of the library, without methods."""
    names = set()
    for path in sorted((SOURCE / "stdlib").rglob("*.ltr")):
        text = path.read_text().split("# ---- tests")[0]
        names |= set(re.findall(r"^(?:fn|block|metric|callback) ([A-Za-z]\w*)", text, re.M))
        for functions in re.findall(r"^extern .*?^}", text, re.M | re.S):
            names |= set(re.findall(r"^  fn ([A-Za-z]\w*)", functions, re.M))
    return names


class Coverage:
    def __init__(self):
        self.rules = read_grammar((SOURCE / "docs/language/grammar.md").read_text())
        self.table = TokenTable(SOURCE / "dsl/lex/token_kind.def")
        self.recognizer = Recognizer(self.rules, self.table)
        self.taken, self.words = set(), set()

    def add(self, path):
        """One program more."""
        tokens = tokens_of(run(LTRC, "dump", "tokens", path).stdout, self.table)
        self.taken |= self.recognizer.choices_of(tokens)
        self.words |= {token.text.strip('"') for token in tokens}

    def missing(self):
        """What never occurred, by kind."""
        unseen = lambda names: sorted(set(names) - self.words)
        return {
            "productions": sorted({described(self.rules, one) for one in choices(self.rules) if one not in self.taken} - NEVER),
            "settings": unseen(rows("runtime/tables/settings.def", r"^LTR_(?:TRAINER|TOPOLOGY|SERVE)\((\w+),")),
            "hooks": unseen(rows("runtime/tables/hooks.def", r"^LTR_HOOK\((\w+),")),
            "units": unseen(rows("dsl/host/unit.def", r'^LTR_UNIT\("(\w+)"')),
            "library": unseen(library_names()),
        }
