"""A grammar in EBNF: read from a page, sentences of it written, programs recognized by it.

A part is `("word", w)`, `("rule", name, arguments)`, `("seq", parts)`, `("choice", parts)`, `("option", part)` or
`("many", part)`; in a word's place may stand a token in capitals.
"""
import collections
import re
import sys
from dataclasses import dataclass

BLOCK = re.compile(r"^```ebnf\n(.*?)^```$", re.M | re.S)
SIGN = re.compile(r'"([^"]*)"|(\w+)|([=|.(){}\[\],])|\s+')


@dataclass
class Rule:
    parameters: list
    body: tuple


class _Reader:
    def __init__(self, text):
        self.signs = [match for match in SIGN.finditer(text) if match.group().strip()]
        self.at = 0

    def next_is(self, sign):
        return self.at < len(self.signs) and self.signs[self.at][3] == sign

    def take(self, sign):
        assert self.next_is(sign), f"`{sign}` is wanted before `{self.signs[self.at].string[self.signs[self.at].start():][:40]}`"
        self.at += 1

    def name(self):
        self.at += 1
        return self.signs[self.at - 1][2]

    def arguments(self):
        found = []
        if self.next_is("(") and self.signs[self.at].start() == self.signs[self.at - 1].end():
            self.take("(")
            found = [self.name()]
            self.take(")")
        return found

    def rule(self):
        name = self.name()
        parameters = self.arguments()
        self.take("=")
        body = self.choice()
        self.take(".")
        return name, Rule(parameters, body)

    def choice(self):
        parts = [self.sequence()]
        while self.next_is("|"):
            self.take("|")
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else ("choice", tuple(parts))

    def sequence(self):
        parts = []
        while not any(self.next_is(sign) for sign in "|.)]}"):
            parts.append(self.part())
        return parts[0] if len(parts) == 1 else ("seq", tuple(parts))

    def part(self):
        for opening, closing, kind in (("[", "]", "option"), ("{", "}", "many"), ("(", ")", None)):
            if self.next_is(opening):
                self.take(opening)
                inner = self.choice()
                self.take(closing)
                return (kind, inner) if kind else inner
        word = self.signs[self.at][1]
        if word is not None:
            self.at += 1
            return ("word", word)
        name = self.name()
        return ("word", name) if name.isupper() else ("rule", name, tuple(self.arguments()))


def read_grammar(page):
    """The productions of all `ebnf` blocks of a page, by name."""
    reader, rules = _Reader("\n".join(BLOCK.findall(page))), {}
    while reader.at < len(reader.signs):
        name, rule = reader.rule()
        assert name not in rules, f"{name} is defined twice"
        rules[name] = rule
    return rules


def _inner(part):
    return part[1] if part[0] in ("seq", "choice") else part[1:2] if part[0] in ("option", "many") else ()


def _walk(part):
    yield part
    for inner in _inner(part):
        yield from _walk(inner)


def terminals_of(rules):
    parts = [part for rule in rules.values() for part in _walk(rule.body)]
    arguments = {name for part in parts if part[0] == "rule" for name in part[2] if name.isupper()}
    return {part[1] for part in parts if part[0] == "word"} | arguments


def names_of(body, parameters):
    used = {name for part in _walk(body) if part[0] == "rule" for name in (part[1], *part[2])}
    return {name for name in used if name not in parameters and not name.isupper()}


def choices(rules):
    """All that a sentence may decide: the branch of a choice, whether an option or a repetition is there."""
    for name, rule in rules.items():
        if name == "program":
            continue
        for number, part in enumerate(_walk(rule.body)):
            ways = range(len(part[1])) if part[0] == "choice" else range(2) if part[0] in ("option", "many") else ()
            yield from ((name, number, way) for way in ways)


def text_of(part):
    """A part as the page writes it."""
    kind = part[0]
    if kind == "word":
        return part[1] if part[1].isupper() else f'"{part[1]}"'
    if kind == "rule":
        return part[1] + (f"({', '.join(part[2])})" if part[2] else "")
    if kind == "seq":
        return " ".join(map(text_of, part[1]))
    if kind == "choice":
        return "( " + " | ".join(map(text_of, part[1])) + " )"
    return ("[ {} ]" if kind == "option" else "{{ {} }}").format(text_of(part[1]))


def described(rules, choice):
    """One of `choices`, for people."""
    name, number, way = choice
    part = list(_walk(rules[name].body))[number]
    if part[0] == "choice":
        return f"{name}: {text_of(part[1][way])}"
    return f"{name}: {text_of(part)} {'is there' if way else 'is absent'}"


def _bound(part, bindings):
    """A use of a parameter as what its user filled in."""
    if part[0] == "rule" and part[1] in bindings:
        return bindings[part[1]]
    return part


def _filled(part, rules, bindings):
    """The bindings of the production that `part` uses."""
    arguments = [_bound(("rule", name, ()), bindings) if not name.isupper() else ("word", name) for name in part[2]]
    return dict(zip(rules[part[1]].parameters, arguments))


class Writer:
    """Sentences by chance; once one is long, the shortest way out."""

    SAMPLES = {"NAME": "a", "WORD": "then", "INT": "2", "FLOAT": "1.5", "UNIT": "epochs", "STR": '"s"', "NEWLINE": "\n",
               "STR_BEGIN": '"', "STR_TEXT": "s", "INTERP_BEGIN": "{", "INTERP_FORMAT": ":.3", "INTERP_END": "}",
               "STR_END": '"', "END": ""}
    LONG = 200

    def __init__(self, rules, chance):
        self.rules, self.chance, self.taken = rules, chance, set()
        self.left = collections.Counter(rule for rule, _, _ in choices(rules))
        self.numbers = {name: {id(part): number for number, part in enumerate(_walk(rule.body))}
                        for name, rule in rules.items()}
        self.heights = {}
        for _ in rules:  # a height rests on those of lower productions
            self.heights = {name: self.height(rule.body) for name, rule in rules.items()}

    def height(self, part):
        if part[0] == "rule":
            return 1 + self.heights.get(part[1], 0 if part[1] not in self.rules else 1000)
        if part[0] in ("option", "many", "word"):
            return 0
        heights = [self.height(inner) for inner in part[1]]
        return min(heights) if part[0] == "choice" else max(heights, default=0)

    def sentence(self, name):
        self.words, self.in_string, self.open = 0, False, []
        return self.write(("rule", name, ()), "", {})

    def is_deep(self):
        return any(self.open.count(name) > 2 for name in ("expr", "body", "type"))

    def is_free(self):
        return self.words < self.LONG and not self.in_string and not self.is_deep()

    def leads_on(self, part, bindings):
        """Whether a production that stands in the part has choices that were not taken: few sentences reach the last ones."""
        return any(self.left[_bound(("rule", name, ()), bindings)[1]] for name in names_of(part, ()))

    def decide(self, part, rule, ways):
        """One of the ways by chance, of those that were not taken before if there are any."""
        number = self.numbers[rule][id(part)]
        way = self.chance.choice([way for way in ways if (rule, number, way) not in self.taken] or ways)
        if (rule, number, way) not in self.taken:
            self.left[rule] -= 1
        self.taken.add((rule, number, way))
        return way

    def write(self, part, rule, bindings):
        kind = part[0]
        if kind == "word":
            self.words += 1
            name = "INT" if part[1] == "STR" and self.in_string else part[1]
            return self.SAMPLES.get(name, name)
        if kind == "rule":
            target = _bound(part, bindings)
            return self.write(target, rule, {}) if target is not part else self.write_rule(part, bindings)
        if kind == "seq":
            return " ".join(self.write(inner, rule, bindings) for inner in part[1])
        if kind == "choice":
            lowest = min(map(self.height, part[1]))
            is_any = self.is_free() or rule == "string"
            ways = [way for way, inner in enumerate(part[1]) if is_any or self.height(inner) == lowest]
            return self.write(part[1][self.decide(part, rule, ways)], rule, bindings)
        ways = (0, 0, 1) if self.is_free() or rule == "string" else (0,)
        leads_on = not self.in_string and not self.is_deep() and self.leads_on(part[1], bindings)  # also behind what made it long
        was_left_out = (rule, self.numbers[rule][id(part)], 0) in self.taken
        is_there = self.decide(part, rule, (1,) if leads_on and was_left_out else ways)
        count = self.chance.choice((1, 2)) if is_there and kind == "many" else is_there
        return " ".join(self.write(part[1], rule, bindings) for _ in range(count))

    def write_rule(self, part, bindings):
        outside = self.in_string
        self.in_string = outside or part[1] == "string"  # in a string stand no strings, and the shortest values
        self.open.append(part[1])
        text = self.write(self.rules[part[1]].body, part[1], _filled(part, self.rules, bindings))
        self.open.pop()
        self.in_string = outside
        return text.replace(":.3 }", ":.3}")  # a format ends where its braces do


class _Part:
    """A part where the parameters of the productions around it are filled in."""

    __slots__ = ("kind", "word", "parts", "place", "known", "first")

    def __init__(self, kind, place=None):
        self.kind, self.word, self.parts, self.place = kind, None, (), place
        self.known = {}  # of a production: the ends by where it begins
        self.first = None


class Recognizer:
    """Whether tokens are a sentence; all ways at once, so that nothing hangs on the order of choices."""

    def __init__(self, rules, table):
        sys.setrecursionlimit(100_000)
        self.rules, self.table, self.productions = rules, table, {}
        self.whole = self.part_of(("rule", "program", ()), "", {}, {})

    def part_of(self, part, rule, bindings, numbers):
        kind = part[0]
        if kind == "rule":
            target = _bound(part, bindings)
            return self.part_of(target, rule, {}, {}) if target is not part else self.production(part, bindings)
        made = _Part(kind, (rule, numbers[id(part)]) if id(part) in numbers else None)
        if kind == "word":
            made.word = part[1]
        else:
            inner = part[1] if kind in ("choice", "seq") else (part[1],)
            made.parts = tuple(self.part_of(one, rule, bindings, numbers) for one in inner)
        return made

    def production(self, part, bindings):
        filled = _filled(part, self.rules, bindings)
        key = (part[1], *filled.items())
        if key not in self.productions:
            made = self.productions[key] = _Part("rule")  # known before its body, which may use it
            body = self.rules[part[1]].body
            numbers = {id(inner): number for number, inner in enumerate(_walk(body))}
            made.parts = (self.part_of(body, part[1], filled, numbers),)
        return self.productions[key]

    def first(self, part):
        """The words that a part may begin with, and whether it may be empty."""
        if part.first is None:
            part.first = self.find_first(part)
        return part.first

    def find_first(self, part):
        if part.kind == "word":
            return {part.word}, False
        if part.kind == "choice":
            ways = list(map(self.first, part.parts))
            return set().union(*(words for words, _ in ways)), any(may_be_empty for _, may_be_empty in ways)
        words = set()
        for inner in part.parts:
            more, may_be_empty = self.first(inner)
            words |= more
            if not may_be_empty and part.kind not in ("option", "many"):
                return words, False
        return words, True

    def problem(self, tokens):
        """What is wrong first; nothing if they are a sentence."""
        self.tokens, self.furthest = tokens, 0
        for part in self.productions.values():
            part.known = {}
        if len(tokens) in self.ends(self.whole, 0):
            return None
        token = tokens[min(self.furthest, len(tokens) - 1)]
        return f"`{token.text or sorted(token.terminals)}` at {token.place}"

    def ends(self, part, at):
        kind = part.kind
        if kind == "word":
            self.furthest = max(self.furthest, at)
            return (at + 1,) if at < len(self.tokens) and part.word in self.tokens[at].terminals else ()
        words, may_be_empty = part.first or self.first(part)
        if at >= len(self.tokens) or words.isdisjoint(self.tokens[at].terminals):
            self.furthest = max(self.furthest, at)
            return (at,) if may_be_empty else ()
        if kind == "rule":
            if at not in part.known:
                part.known[at] = self.ends(part.parts[0], at)
            return part.known[at]
        if kind == "choice":
            return {end for inner in part.parts for end in self.ends(inner, at)}
        if kind == "seq":
            reached = (at,)
            for inner in part.parts:
                reached = self.ends_of_all(inner, reached)
                if not reached:
                    break
            return reached
        reached, fresh = {at}, {at}
        while fresh:
            fresh = set(self.ends_of_all(part.parts[0], fresh)) - reached
            reached |= fresh
            if kind == "option":
                break
        return reached

    def ends_of_all(self, part, begins):
        if len(begins) == 1:
            return self.ends(part, *begins)
        return {end for begin in begins for end in self.ends(part, begin)}

    # ---- which choices a sentence took

    def choices_of(self, tokens):
        """Of the sentence that the tokens are: `(production, part, way)` as `choices` gives them, by one of its readings."""
        problem = self.problem(tokens)
        assert problem is None, problem
        self.taken = set()
        self.follow(self.whole, 0, len(tokens))
        return self.taken

    def take(self, part, way):
        # What the user of a production filled in was counted where it stands.
        if part.place is not None:
            self.taken.add((*part.place, way))

    def follow(self, part, at, end):
        if part.kind == "rule":
            self.follow(part.parts[0], at, end)
        elif part.kind == "choice":
            # A word that may also be a name is meant as the word.
            ways = sorted(range(len(part.parts)), key=lambda way: not self.begins_with_word(part.parts[way]))
            way = next(way for way in ways if end in self.ends(part.parts[way], at))
            self.take(part, way)
            self.follow(part.parts[way], at, end)
        elif part.kind == "seq":
            self.follow_all(part.parts, at, end)
        elif part.kind in ("option", "many"):
            self.take(part, int(end > at))
            if end > at:
                self.follow_all(part.parts * self.rounds(part.parts[0], at, end), at, end)

    def begins_with_word(self, part):
        if part.kind == "word":
            return not part.word.isupper()
        if part.kind == "seq":
            return bool(part.parts) and self.begins_with_word(part.parts[0])
        return part.kind == "choice" and all(map(self.begins_with_word, part.parts))

    def follow_all(self, parts, at, end):
        """Parts one after another: from the front all places that may be reached, from the back one way to them."""
        reached = [(at,)]
        for part in parts:
            reached.append(self.ends_of_all(part, reached[-1]))
        for i in reversed(range(len(parts))):
            begin = next(begin for begin in sorted(reached[i]) if end in self.ends(parts[i], begin))
            self.follow(parts[i], begin, end)
            end = begin

    def rounds(self, part, at, end):
        """How often the part stands between two places."""
        reached, count = (at,), 0
        while end not in reached or count == 0:
            reached = self.ends_of_all(part, reached)
            count += 1
        return count
