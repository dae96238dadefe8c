"""The smallest form of a program that still fails: declarations and statements are dropped while the failure stays."""


def pieces(lines):
    """Ranges of lines that may go together: a line, or one that opens brackets up to where they are closed."""
    found = []
    for start in range(len(lines)):
        depth = 0
        for end in range(start, len(lines)):
            depth += sum(lines[end].count(c) for c in "{([") - sum(lines[end].count(c) for c in "})]")
            if depth <= 0:
                break
        if depth == 0:
            found.append((start, end + 1))
    return sorted(found, key=lambda piece: piece[0] - piece[1])


def shrunk(files, fails, tries=400):
    """`files` is {name: text}; `fails` says of other files whether the failure is still there. Larger pieces go first."""
    files = dict(files)
    went = True
    while went and tries > 0:
        went = False
        for name in files:
            lines = files[name].split("\n")
            for start, end in pieces(lines):
                # The first line is the edition.
                if start == 0 or not any(line.strip() for line in lines[start:end]) or tries == 0:
                    continue
                tries -= 1
                fewer = {**files, name: "\n".join(lines[:start] + lines[end:])}
                if fails(fewer):
                    files, went = fewer, True
                    break
            if went:
                break
    return {name: "\n".join(line for line in text.split("\n") if line.strip()) + "\n" for name, text in files.items()}
