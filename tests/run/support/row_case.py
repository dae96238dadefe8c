"""A program that prints what each record of its data holds, over files of a folder of its own."""
import pathlib
import re

from harness import build, check, fit

PROGRAM = """ltr 1

data Rows() {{
  batch[B] {{ x: float[B, 2] }}
{source}
}}

model Reader() {{
  weight w: float[2] = ones(2)
  optimizer opt = SGD([w], lr = 1e-9)
  step train[B](x: float[B, 2]) {{
    for k in 0 .. B {{ print "row {{epoch}} {{x[k, 0]:.6}} {{x[k, 1]:.6}}" }}
    minimize mean(x * w)
  }}
}}

experiment e {{ data = Rows(), model = Reader(), trainer {{ epochs = {epochs} }} }}
"""


class Case:
    """A program over files of a folder of its own."""

    def __init__(self, folder, name, source, epochs=1):
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir()
        (self.folder / "rows.ltr").write_text(PROGRAM.format(source=source, epochs=epochs))
        self.program = None

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return self

    def run(self, *options):
        self.program = self.program or build(self.folder / "rows.ltr", self.folder)
        return fit(self.program, self.folder / "runs", *options)

    def rows(self, epoch=0, *options):
        done = self.run(*options)
        if done.returncode != 0:
            return done.text
        return [tuple(float(number) for number in row) for row in re.findall(rf"row {epoch} (\S+) (\S+)", done.stdout)]

    def refuses(self, title, code, *words):
        done = self.run()
        check(title, done.returncode == int(code[1]) and f"error[{code}]" in done.text and all(word in done.text for word in words), done.text)
