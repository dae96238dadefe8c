#!/usr/bin/env python3
"""What data costs: 1,000,000 rows of CSV to the first batch, a folder of JPEGs against PyTorch's DataLoader, texts as tokens against
Hugging Face's tokenizers.

    python3 bench/data.py [csv] [images] [tokens]        images needs torch and torchvision, tokens needs tokenizers

csv: seconds from the start of the process to the end of its first step, and the peak of its memory above that of the same program
over 1,000 rows, in times the file. Marks: 2 s, 3 times. images: images a second through decoding, a random crop to 224 x 224 and a
flip, in batches of 64 with two workers, both on the same files. Mark: twice as many. tokens: megabytes of text a second that a tokenizer.json makes ids of, on one core; ours with
lines that are read, cut and counted, theirs `encode_batch` alone. Mark: as many.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
LTRC = os.environ.get("LTRC", str(ROOT / "build/release/bin/ltrc"))
TABLE = """ltr 1

data Table(file: path = "rows.csv") {
  batch[B] { x: float[B, 8], y: i64[B] }
  type_row
  fn row(r: ROW) -> {x: float[8], y: i64} =
    (x = stack([r.a, r.b, r.c, r.d, r.e, r.f, 1.0 * r.g, 1.0 * r.h]), y = class_of(r.kind, ["red", "green", "blue"]))
  train = csv(file) as ROW |> shuffle(1) |> map(row) |> collate(256)
}

model Net() {
  net = Linear(8, 3)
  optimizer opt = SGD(net.weights, lr = 0.01)
  step train[B](x: float[B, 8], y: i64[B]) { minimize cross_entropy(net(x), y) }
}

experiment table { data = Table(), model = Net(), trainer { epochs = 1 } }
""".replace("  type_row\n", "").replace("ROW", "{a: float, b: float, c: float, d: float, e: float, f: float, g: int, h: int, kind: str}")
FOLDER = """ltr 1

import std.vision.{random_resized_crop, random_flip, to_float}

data Photos(root: path = "photos") {
  batch[B] { x: float[B, 3, 224, 224], y: i64[B] }
  fn drawn(s: {image: u8[3, ?, ?], label: i64}) -> {x: float[3, 224, 224], y: i64} =
    (x = to_float(random_flip(random_resized_crop(s.image, 224, 224))), y = s.label)
  train = image_folder(root) |> shuffle(1) |> map(drawn) |> collate(64, drop_last = true)
}

model Net() {
  weight w: float[1] = ones(1)
  optimizer opt = SGD([w], lr = 1e-9)
  step train[B](x: float[B, 3, 224, 224], y: i64[B]) { minimize mean(w) * mean(x[:, 0, 0, 0]) }
}

experiment photos { data = Photos(), model = Net(), trainer { epochs = 3 } }
"""
LINES = """ltr 1

data Lines(tokens: path = "gpt2.json", file: path = "lines.txt") {
  batch[B] { n: float[B] }
  let tok = tokenizer(tokens)
  fn count(s: {text: str}) -> {n: float[]} = (n = tok.encode(s.text).shape[0].to(float))
  train = text_lines(file) |> map(count) |> collate(512)
}

model Net() {
  weight w: float[1] = ones(1)
  optimizer opt = SGD([w], lr = 1e-9)
  step train[B](n: float[B]) { minimize mean(w) * mean(n) }
}

experiment lines { data = Lines(), model = Net(), trainer { epochs = 1 } }
"""


def build(folder, name, text):
    source = pathlib.Path(folder) / f"{name}.ltr"
    source.write_text(text)
    subprocess.run([LTRC, "build", source, "-o", folder / name], check=True, cwd=folder)
    return folder / name


def timed(*command, cwd):
    """Seconds and the peak of memory in bytes."""
    start = time.monotonic()
    child = subprocess.Popen([str(word) for word in command], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - start
    if status != 0:
        sys.exit(text)
    return seconds, usage.ru_maxrss * 1024, text


def write_rows(path, count):
    draw = random.Random(1)
    with open(path, "w", encoding="utf8") as file:
        file.write("id,a,b,c,d,e,f,g,h,kind,note\n")
        for i in range(count):
            file.write(f"{i},{draw.random():.6f},{draw.gauss(0, 1):.4f},{draw.random():.3f},{draw.gauss(5, 20):.2f},{draw.random():.6f},"
                       f"{draw.random() * 1e4:.1f},{draw.randrange(100)},{draw.randrange(10**6)},{draw.choice(('red', 'green', 'blue'))},\n")


def csv(folder):
    program = build(folder, "table", TABLE)
    options = ("fit", "--bare", "--no-bar", "--steps", 1, "--workers", 1, "--set")
    write_rows(folder / "few.csv", 1000)
    write_rows(folder / "rows.csv", 1_000_000)
    size = (folder / "rows.csv").stat().st_size
    _, few, _ = timed(program, *options, "data.file=few.csv", cwd=folder)
    for turn in range(2):
        seconds, many, _ = timed(program, *options, "data.file=rows.csv", cwd=folder)
        print(f"csv     1,000,000 rows, {size / 1e6:.0f} MB: {seconds:.2f} s to the first batch, {(many - few) / size:.2f} times the file in memory")


def images(folder):
    import torch
    import torchvision
    from torchvision.transforms import v2
    generator = torch.Generator().manual_seed(1)
    for kind in range(4):
        (folder / "photos" / str(kind)).mkdir(parents=True)
        for i in range(160):
            rough = torch.rand(3, 12, 16, generator=generator)
            smooth = torch.nn.functional.interpolate(rough[None], (375, 500), mode="bicubic")[0].clamp(0, 1)
            noisy = (smooth + 0.03 * torch.randn(3, 375, 500, generator=generator)).clamp(0, 1)
            torchvision.io.write_jpeg((noisy * 255).to(torch.uint8), str(folder / f"photos/{kind}/{i}.jpg"), quality=90)
    program = build(folder, "photos_program", FOLDER)
    options = ("fit", "--bare", "--no-bar", "--workers", 2, "--threads", 1)
    short, _, _ = timed(program, *options, "--epochs", 1, cwd=folder)
    long, _, _ = timed(program, *options, "--epochs", 4, cwd=folder)
    ours = 3 * 640 / (long - short)
    torch.set_num_threads(1)
    transform = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)])
    dataset = torchvision.datasets.ImageFolder(folder / "photos", transform, loader=lambda path: torchvision.io.read_image(path))
    loader = torch.utils.data.DataLoader(dataset, 64, shuffle=True, num_workers=2, drop_last=True, persistent_workers=True)
    pillow = torch.utils.data.DataLoader(
        torchvision.datasets.ImageFolder(folder / "photos", v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.ToImage(),
                                                                        v2.ToDtype(torch.float32, scale=True)])),
        64, shuffle=True, num_workers=2, drop_last=True, persistent_workers=True)
    for name, one in (("torchvision.io", loader), ("Pillow, as ImageFolder reads", pillow)):
        for _ in one:
            pass
        start = time.monotonic()
        for _ in range(2):
            for x, _ in one:
                x[:, 0, 0, 0].mean()
        theirs = 2 * 640 / (time.monotonic() - start)
        print(f"images  {ours:.0f} a second, DataLoader ({name}) {theirs:.0f}: {ours / theirs:.2f} times")


def tokens(folder):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    play = (ROOT / "examples/data/shakespeare.txt").read_text().split("\n")
    words = [line.split() for line in play if line.strip()]
    draw = random.Random(1)
    lines = [" ".join(word for _ in range(4) for word in draw.choice(words)) for _ in range(60_000)]
    (folder / "lines.txt").write_text("\n".join(lines) + "\n")
    (folder / "few.txt").write_text("\n".join(lines[:512]) + "\n")
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    gpt2 = Tokenizer(models.BPE())
    gpt2.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    gpt2.train_from_iterator(play, trainers.BpeTrainer(vocab_size=8000, initial_alphabet=alphabet, show_progress=False))
    bert = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    bert.normalizer, bert.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    bert.train_from_iterator(play, trainers.WordPieceTrainer(vocab_size=6000, special_tokens=["[UNK]"], show_progress=False))
    unigram = Tokenizer(models.Unigram())
    unigram.normalizer, unigram.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    unigram.train_from_iterator(play, trainers.UnigramTrainer(vocab_size=6000, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False))
    program = build(folder, "lines_program", LINES)
    options = ("fit", "--bare", "--no-bar", "--workers", 1, "--threads", 1)
    megabytes = (folder / "lines.txt").stat().st_size / 1e6
    for name, one in (("gpt2", gpt2), ("bert", bert), ("unigram", unigram)):
        one.save(str(folder / f"{name}.json"))
        given = ("--set", f"data.tokens={name}.json", "--set")
        for turn in range(2):
            few, _, _ = timed(program, *options, *given, "data.file=few.txt", cwd=folder)
            many, _, _ = timed(program, *options, *given, "data.file=lines.txt", cwd=folder)
            start = time.monotonic()
            for i in range(0, len(lines), 512):
                one.encode_batch(lines[i:i + 512])
            theirs = time.monotonic() - start
            print(f"tokens  {name}: {megabytes / (many - few):.1f} MB/s, tokenizers {megabytes / theirs:.1f}: {theirs / (many - few):.2f} times")


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["csv", "images", "tokens"]
    for name in wanted:
        with tempfile.TemporaryDirectory() as place:
            {"csv": csv, "images": images, "tokens": tokens}[name](pathlib.Path(place))
