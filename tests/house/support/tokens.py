"""The tokens of the language: what token_kind.def says of them, and those of a program."""
import re


class TokenTable:
    def __init__(self, path):
        text = path.read_text()
        rows = re.findall(r'^LTR_(TOKEN|PUNCTUATION|RESERVED|KEYWORD)\((\w+),\s*"([^"]*)"\)', text, re.M)
        assert len(rows) > 100, f"{path.name} has another form now"
        self.classes = [name for group, name, _ in rows if group == "TOKEN"]
        self.texts = {name: spelling for group, name, spelling in rows if group != "TOKEN"}
        self.spellings = set(self.texts.values())
        names = {name for group, name, _ in rows if group == "KEYWORD"} | {"Name"}
        self.kinds = {"NAME": names, "WORD": names | {name for group, name, _ in rows if group == "RESERVED"}}

    @staticmethod
    def class_name(kind):
        """`StrBegin` as the page writes it."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).upper()


class Token:
    """What a terminal of the page is compared with."""

    def __init__(self, place, kind, text, table):
        self.place, self.text = place, table.texts.get(kind, text)
        self.terminals = {name for name, kinds in table.kinds.items() if kind in kinds}
        self.terminals |= {self.text} if kind in table.texts or kind == "Name" else {table.class_name(kind)}


def tokens_of(dump, table):
    """Of the lines of `ltrc dump tokens`, `4:8-4:10 Name lr`, up to `End`."""
    tokens = []
    for line in dump.splitlines():
        place, kind, *text = line.split(" ", 3)
        tokens.append(Token(place, kind, text[0] if text else "", table))
        if kind == "End":
            break
    return tokens
