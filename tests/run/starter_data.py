#!/usr/bin/env python3
"""`ltrc new --task … --data …` looks at the data: the program reads what is there, or what fits no rule is shown, with file, row and column and what is
wanted, and nothing is written. Without --task it takes the task that fits.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import random
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, LTRC, SOURCE, check, finish, run, scratch

NUMBERS = "a,b,label\n" + "".join(f"{i % 7},{i * 0.5},{'xy'[i % 2]}\n" for i in range(40))


class Folder:
    def __init__(self, place):
        self.place = pathlib.Path(place)

    def write(self, name, content):
        path = self.place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def new(self, task, data, name="mine"):
        (self.place / f"{name}.ltr").unlink(missing_ok=True)
        return run(LTRC, "new", name, "--task", task, "--data", data, cwd=self.place)

    def reads(self, title, task, data, *words, fit=False, said=()):
        """The program that is written checks, has `words` in it, and trains if it shall."""
        done = self.new(task, data)
        text = (self.place / "mine.ltr").read_text() if done.returncode == 0 else ""
        checked = run(LTRC, "check", "--deny", "warnings", "mine.ltr", cwd=self.place) if text else done
        check(f"{task}: {title}", checked.returncode == 0 and all(word in text for word in words) and all(word in done.stdout for word in said),
              f"{done.text}\n{checked.text}\n{text}")
        if fit and text:
            done = run(LTRC, "run", "mine.ltr", "fit", "--no-bar", "--threads", 1, "--limit-train", 3, "--epochs", 1, cwd=self.place)
            check(f"{task}: {title}, trains", done.returncode == 0, done.text)

    def refuses(self, title, task, data, *words):
        done = self.new(task, data)
        check(f"{task}: {title} is refused", done.returncode == 1 and done.text.startswith("error: ") and "nothing was written" in done.text
              and all(word in done.text for word in words) and not (self.place / "mine.ltr").exists(), done.text)


def tables(folder):
    classifier = "tabular-classifier"
    folder.reads("a table", classifier, folder.write("a.csv", NUMBERS), "{a: float, b: float, label: str}", "float[B, 2]", said=("40 rows of 2 classes in `label`",), fit=True)
    folder.reads("that comes with it", classifier, EXAMPLES / "data/iris.csv", "sepal_length: float", "species: str", "float[B, 4]")
    folder.reads("cells that are empty, a column of texts, one of one value, names that are none", classifier, folder.write(
        "b.csv", "kind,a,note,b,größe,my size,same\n" + "".join(f"{'uvw'[i % 3]},{i},n{i},{'' if i % 5 == 0 else i},1.{i},2.{i},7\n" for i in range(30))),
        "type Row = {a: float, b: option[float], kind: str}", "or_else(row.b, seen.b.median)",
        said=("3 classes in `kind`", "left out: `note` (texts), `größe` (no program can name it), `my size` (no program can name it), `same` (one value)"), fit=True)
    many = "".join(f"{random.random()},k{i % 1000}\n" for i in range(3000))
    folder.reads("a thousand classes", classifier, folder.write("many.csv", "x,label\n" + many), "x: float", said=("1000 classes",), fit=True)
    folder.reads("classes that are numbers", classifier, folder.write("n.csv", "x,y,z\n" + "".join(f"{i}.5,{i % 3},{i}\n" for i in range(30))), "y: str")
    folder.reads("another separator", classifier, folder.write("s.csv", NUMBERS.replace(",", ";")), 'csv(file, sep = ";")', fit=True)
    odd = folder.write('my "best" data {1}/NAME größe\\x.csv', NUMBERS)
    folder.reads("a path with quotes, braces, spaces and other letters", classifier, odd, r'my \"best\" data \{1}/NAME größe\\x.csv', fit=True)
    folder.reads("a column that holds the word of the starter", classifier, folder.write("c.csv", NUMBERS.replace("a,b", "NAME,species")), "NAME: float, species: float")
    folder.reads("columns called as words of the language", classifier, folder.write("w.csv", NUMBERS.replace("a,b", "batch,train")), "batch: float, train: float", fit=True)
    for title, content, words in (
            ("one class", NUMBERS.replace(",y\n", ",x\n"), ("t.csv: the column `label` has one class, \"x\"",)),
            ("one column", "a\n1\n2\n" * 10, ("t.csv:1: one column, `a`", "numbers to tell")),
            ("a file without bytes", "", ("t.csv is empty",)),
            ("few rows", "a,label\n1,x\n2,y\n", ("t.csv: 2 rows, and 10",)),
            ("a text among numbers", NUMBERS.replace("\n3,1.5", "\n3,many"), ("t.csv:5: the column `b` is \"many\"", "numbers")),
            ("NA among numbers", NUMBERS.replace("\n3,1.5", "\n3,NA"), ("t.csv:5: the column `b` is \"NA\"",)),
            ("a row of another length", NUMBERS.replace("\n3,1.5", "\n3,1.5,9"), ("t.csv:5: 4 cells, and the header has 3",)),
            ("a class that is empty", NUMBERS.replace("\n3,1.5,y", "\n3,1.5,"), ("t.csv:5: the column `label` is empty",)),
            ("two columns of one name", NUMBERS.replace("a,b", "a,a"), ("t.csv:1: two columns are called `a`",)),
            ("classes that come once", "a,label\n" + "".join(f"{i},k{i}\n" for i in range(40)), ("40 classes in 40 rows",)),
            ("no classes at all", "a,b\n" + "".join(f"{i},{i * i}\n" for i in range(40)), ("no column says of which class", "`a` (numbers)")),
            ("no numbers", "a,label\n" + "".join(f"t{i},{'xy'[i % 2]}\n" for i in range(40)), ("no column holds numbers", "`a` (40 texts)")),
            ("a class column that no program can name", NUMBERS.replace("label", "the label"), ("t.csv:1: the column `the label`", "rename")),
            ("a quote that is not closed", NUMBERS.replace("\n3,", '\n"3,'), ("t.csv: at byte",)),
            ("a table without a header", NUMBERS.removeprefix("a,b,label\n"), ("t.csv:1: 0 is a number, and no name of a column", "no header")),
            ("Latin-1", NUMBERS.replace("x\n", "ö\n").encode("latin-1"), ("t.csv:2: the byte 0xF6 at character 7 is no UTF-8", "iconv")),
            ("rows in JSON", '{"a": 1, "label": "x"}\n' * 40, ("t.csv: rows in JSON", "`jsonl(file) as Row`")),
            ("a Parquet file", (SOURCE / "tests/corpus/data/rows.parquet").read_bytes(), ("t.csv is a Parquet file", "`parquet(file) as Row`")),
            ("bytes that are no text", bytes(range(256)) * 20, ("t.csv is no text",))):
        folder.refuses(title, classifier, folder.write("t.csv", content), *words)
    (folder.place / "empty").mkdir()
    folder.refuses("a folder", classifier, "empty", "empty is a folder", "CSV")

    regressor = "tabular-regressor"
    folder.reads("that comes with it", regressor, EXAMPLES / "data/cars.csv", "float[B, 6]", fit=True)
    folder.reads("a table", regressor, folder.write("r.csv", NUMBERS), "b: float}", "float[B, 1]", fit=True)
    folder.reads("a target that is missing in some rows", regressor, folder.write("r.csv", "price,x\n" + "".join(f"{'' if i == 4 else i},{i}.25\n" for i in range(40))),
                 "price: option[float]", "filter(is_told)", fit=True)
    folder.refuses("no numbers", regressor, folder.write("t.csv", "a,b\n" + "x,y\n" * 20), "no column holds numbers", "`a` (1 text)")
    folder.refuses("a target that is a text once", regressor, folder.write("t.csv", "x,y\n" + "1,2\n" * 20 + "3,lots\n"), "t.csv:22: the column `y`, which is told, is \"lots\"")
    folder.refuses("a target of one value", regressor, folder.write("t.csv", "x,y\n" + "".join(f"{i},2\n" for i in range(20))), "`y`, which is told, has one value")

    texts = "text-classifier"
    folder.reads("that comes with it", texts, EXAMPLES / "data/speeches.csv", "{speech: str, play: str}")
    folder.reads("a table", texts, folder.write("x.csv", "id,sentiment,review\n" + "".join(f"{i},{['good', 'bad'][i % 2]},\"It was {'so ' * (i % 5)}{['nice', 'dull'][i % 2]}, {i}\"\n" for i in range(40))),
                 "{review: str, sentiment: str}", said=("40 texts in `review`, of 2 classes in `sentiment`",), fit=True)
    folder.reads("columns called as those of the starter", texts, folder.write("x.csv", "line,play,speech\n" + "".join(f"s,a text of words {i},{['good', 'bad'][i % 2]}\n" for i in range(40))),
                 "{play: str, speech: str}", "row.play.lower()", "row.speech, seen.speech")
    folder.refuses("a text that is empty", texts, folder.write("t.csv", "text,label\n" + "a b c,x\nd e f,y\n" * 20 + ",x\n"), "t.csv:42: the column `text` is empty")
    folder.refuses("no texts", texts, folder.write("t.csv", "a,b\n" + "1,2\n2,3\n" * 20), "no column holds texts")

    folder.reads("that comes with it", "forecaster", EXAMPLES / "data/sea_temperature.csv", "{celsius: float}")
    folder.reads("a table", "forecaster", folder.write("f.csv", "day,power\n" + "".join(f"d{i},{i % 24}.5\n" for i in range(300))), "{power: float}", "power: float[behind + ahead]", fit=True)
    folder.refuses("a gap", "forecaster", folder.write("t.csv", "day,power\n" + "".join(f"d{i},{i if i != 7 else ''}\n" for i in range(300))), "t.csv:9: the column `power` is empty")
    folder.refuses("a short series", "forecaster", folder.write("t.csv", "day,power\n" + "1,2\n" * 20), "20 rows, and 150")


def files(folder):
    letters = "language-model"
    folder.reads("a text", letters, folder.write("größe.txt", "Äpfel und Birnen. " * 600), 'path = "größe.txt"')
    folder.reads("the shortest", letters, folder.write("short.txt", ("Äpfel und Birnen. " * 600)[:10_250]), said=("10250 letters",), fit=True)
    folder.refuses("a shorter one", letters, folder.write("t.txt", ("Äpfel und Birnen. " * 600)[:10_249]), "t.txt: 10249 letters, and 10250 at least")
    folder.refuses("what is no UTF-8", letters, folder.write("t.txt", b"fine\n" * 500 + b"\xff\xfe" + b"fine\n" * 500), "t.txt:501: the byte 0xFF at character 1 is no UTF-8", "iconv")

    pictures = "image-classifier"
    source = EXAMPLES / "data/photo_patches"
    folder.reads("that come with it", pictures, source, "classes: int = 8", said=("of 8 classes",))
    kept = sorted(path for path in source.iterdir() if path.is_dir())[:2]
    for name, path in zip(('cats "&" {dogs}', "größe mit Raum"), kept):
        shutil.copytree(path, folder.place / "my pictures" / name)
    (folder.place / "my pictures/.thumbs").mkdir()
    folder.reads("folders with quotes, spaces and other letters", pictures, "my pictures", "classes: int = 2", 'path = "my pictures"', said=("größe mit Raum",), fit=True)
    folder.write("my pictures/größe mit Raum/notes.txt", "text")
    folder.refuses("a file that is no picture", pictures, "my pictures", "my pictures/größe mit Raum/notes.txt is neither")
    (folder.place / "my pictures/größe mit Raum/notes.txt").unlink()
    (folder.place / "my pictures/none").mkdir()
    folder.refuses("an empty class", pictures, "my pictures", "my pictures/none: the folder of a class")
    (folder.place / "my pictures/none").rmdir()
    shutil.copy(next(kept[0].iterdir()), folder.place / "my pictures/loose.png")
    folder.refuses("a picture outside", pictures, "my pictures", "loose.png")
    (folder.place / "my pictures/loose.png").unlink()
    shutil.rmtree(folder.place / "my pictures/größe mit Raum")
    folder.refuses("one class", pictures, "my pictures", "one class", "two at least")
    folder.refuses("an empty folder", pictures, "empty", "empty holds no folder of pictures")
    folder.refuses("a table", pictures, folder.write("t.csv", NUMBERS), "t.csv is no folder")

    folder.reads("that come with it", "segmenter", EXAMPLES / "data/mnist-5k", "mnist(root")
    folder.refuses("an empty folder", "segmenter", "empty", "train-images-idx3-ubyte", "MNIST")


def picked(folder):
    """Without --task."""
    def new(data):
        (folder.place / "mine.ltr").unlink(missing_ok=True)
        return run(LTRC, "new", "mine", "--data", data, cwd=folder.place)

    series = folder.write("power.csv", "day,power\n" + "".join(f"d{i},{i % 24}.5\n" for i in range(300)))
    numbers = folder.write("numbers.csv", "a,b\n" + "".join(f"{i}.5,{i * i}\n" for i in range(40)))
    for data, task in ((EXAMPLES / "data/iris.csv", "tabular_classifier"), (EXAMPLES / "data/speeches.csv", "text_classifier"), (numbers, "tabular_regressor"), (EXAMPLES / "data/sea_temperature.csv", "tabular_regressor"), (EXAMPLES / "data/cars.csv", "tabular_classifier"),
                       (series, "forecaster"), (EXAMPLES / "data/photo_patches", "image_classifier"), (EXAMPLES / "data/mnist-5k", "segmenter"),
                       (EXAMPLES / "data/shakespeare.txt", "language_model")):
        done = new(data)
        checked = run(LTRC, "check", "--deny", "warnings", "mine.ltr", cwd=folder.place)
        check(f"of {pathlib.Path(data).name} it makes a {task}", f"took the task {task};" in done.stdout and checked.returncode == 0
              and f"std.tasks.{{{task}}}" in (folder.place / "mine.ltr").read_text(), done.text + checked.text)
    for title, data, words in (
            ("a file without bytes", folder.write("none.csv", ""), ("tabular_classifier: none.csv is empty",)),
            ("an empty folder", "empty", ("image_classifier: empty holds no folder of pictures", "segmenter: ")),
            ("a Parquet file", SOURCE / "tests/corpus/data/rows.parquet", ("rows.parquet is a Parquet file",)),
            ("rows in JSON", folder.write("t.jsonl", '{"a": 1, "label": "x"}\n' * 400), ("t.jsonl: rows in JSON",)),
            ("texts that differ", folder.write("t.csv", "a,b\n" + "".join(f"t{i},u{i}\n" for i in range(40))), ("tabular_classifier: ", "tabular_regressor: ", "forecaster: ", "text_classifier: ")),
            ("a short text", folder.write("t.txt", "short"), ("language_model: t.txt: 5 letters",))):
        done = new(data)
        check(f"{title} fits no task, and that is said", done.returncode == 1 and done.stderr.startswith("error: no task fits") and "nothing was written" in done.stderr
              and "`ltrc new --list`" in done.stderr and all(word in done.stderr for word in words) and not (folder.place / "mine.ltr").exists(), done.text)


with scratch() as place:
    for part in (tables, files, picked):
        part(Folder(place))
finish()
