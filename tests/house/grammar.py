"""docs/language/grammar.md is the grammar that the parser has: its words are the tokens, its sentences parse, programs that parse
are its sentences, and operators bind as it says.

    grammar.py SOURCE_DIR LTRC
"""
import itertools
import pathlib
import random
import subprocess
import sys
import tempfile

from support.ebnf import Recognizer, Writer, choices, names_of, read_grammar, terminals_of
from support.tokens import TokenTable, tokens_of

TYPES_WITH_TYPES = {"list", "option", "stream"}  # words to types alone, names to the lexer
MUTANTS = 120


class Compiler:
    def __init__(self, ltrc, folder):
        self.ltrc, self.path = ltrc, pathlib.Path(folder) / "sentence.ltr"

    def run(self, what, text):
        self.path.write_text(text)
        return subprocess.run([self.ltrc, "dump", what, self.path], capture_output=True, text=True, timeout=60)

    def mistakes(self, text):
        return self.run("ast", text).stderr

    def tokens(self, text, table):
        return tokens_of(self.run("tokens", text).stdout, table)


def faults_of_words(rules, table):
    written = terminals_of(rules)
    known = set(table.spellings) | {"NAME", "WORD"} | {table.class_name(kind) for kind in table.classes if kind != "Error"}
    faults = [f"the page has no {word}" for word in sorted(known - written)]
    faults += [f"{word} is no token" for word in sorted(written - known - TYPES_WITH_TYPES)]
    used = {name for rule in rules.values() for name in names_of(rule.body, rule.parameters)} | {"program"}
    faults += [f"{name} is used and not defined" for name in sorted(used - set(rules))]
    return faults + [f"{name} is defined and not used" for name in sorted(set(rules) - used)]


def faults_of_sentences(rules, compiler):
    """Sentences that take every choice of the page."""
    writer = Writer(rules, random.Random(7))
    for _ in range(120):
        text = "\n".join(["ltr 1", *(writer.sentence("declaration") for _ in range(20)), ""])
        if mistakes := compiler.mistakes(text):
            first = mistakes.split("\n\n")[0]
            return [f"the page has a sentence that is not parsed:\n{first}"]
    left = set(choices(rules)) - writer.taken
    return [f"no sentence was made with {choice}" for choice in sorted(left, key=str)]


def programs_of(source):
    for folder in ("examples", "stdlib", "tests/run", "tests/corpus/accepted", "tests/format/Inputs"):
        yield from sorted((source / folder).rglob("*.ltr"))
    yield from (path for path in sorted((source / "tests/parse").glob("*.ltr")) if "%dump ast" in path.read_text())


def faults_of_programs(source, recognizer, compiler, table):
    faults, texts = [], []
    for path in programs_of(source):
        text = path.read_text()
        if compiler.mistakes(text):
            continue
        texts.append(text)
        if problem := recognizer.problem(compiler.tokens(text, table)):
            faults.append(f"{path.relative_to(source)}: the page does not allow {problem}")
    return faults, texts


def faults_of_mutants(texts, recognizer, compiler, table):
    """Programs with one token changed: what the parser takes, the page allows."""
    chance, faults, taken = random.Random(11), [], 0
    small = [text for text in texts if len(text) < 3000]
    words = [*table.spellings, "name", "2", '"text"', "\n"]
    for _ in range(MUTANTS):
        lines = chance.choice(small).split("\n")
        row = chance.randrange(len(lines))
        pieces = lines[row].split(" ")
        at = chance.randrange(len(pieces))
        pieces[at : at + chance.randrange(2)] = chance.choice(([], [chance.choice(words)], [pieces[at], pieces[at]]))
        lines[row] = " ".join(pieces)
        text = "\n".join(lines)
        if compiler.mistakes(text):
            continue
        taken += 1
        if problem := recognizer.problem(compiler.tokens(text, table)):
            faults.append(f"the page does not allow {problem}, which is parsed:\n{lines[row]}")
    return faults + ([] if taken > MUTANTS / 10 else [f"only {taken} of {MUTANTS} changed programs were parsed"])


def levels_of(rules):
    """The binary operators of each production from `or` to `power`, the loosest first."""
    names = ("or", "and", "comparison", "range", "sum", "product", "power")
    return [sorted(word for word in terminals_of({name: rules[name]})) for name in names]


def faults_of_precedence(rules, compiler):
    pairs = [(loose, tight) for low, high in itertools.combinations(levels_of(rules), 2) for loose in low for tight in high]
    text = "".join(f"const n{i} = a {loose} b {tight} c\nconst m{i} = a {tight} b {loose} c\n"
                   for i, (loose, tight) in enumerate(pairs))
    tree = compiler.run("ast", "ltr 1\n" + text).stdout
    tops = [line.split()[2] for line in tree.splitlines() if line.startswith("    = Binary ")]
    wanted = [loose for loose, _ in pairs for _ in range(2)]
    return [f"`{loose}` does not bind looser than `{tight}`" for (loose, tight), top in
            zip(((pair) for pair in pairs for _ in range(2)), tops) if top != loose] + (
        [] if len(tops) == len(wanted) else ["not every pair of operators was parsed"])


def main(source, ltrc):
    source = pathlib.Path(source)
    rules = read_grammar((source / "docs/language/grammar.md").read_text())
    table = TokenTable(source / "dsl/lex/token_kind.def")
    faults = faults_of_words(rules, table)
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(ltrc, folder)
        if not faults:
            recognizer = Recognizer(rules, table)
            faults += faults_of_precedence(rules, compiler) + faults_of_sentences(rules, compiler)
            of_programs, texts = faults_of_programs(source, recognizer, compiler, table)
            faults += of_programs + faults_of_mutants(texts, recognizer, compiler, table)
    print("\n".join(faults + [f"{len(rules)} productions, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
