#!/usr/bin/env python3
"""Twenty steps of each example against the same steps in PyTorch: train losses and final weights.

Each example is copied and its text changed, so that the batches come in the order of the file, nothing is drawn at
random in a step; both sides start from the weights that Ltr made. Both compute with 256-bit vectors: with wider ones
Ltr takes another of LibTorch's two products on some processors, whose sums are rounded in another order
(runtime/tensor/product_test.cpp holds it against f64), and twenty steps of a CNN make 1e-7 to 1e-4.
Needs torch, torchvision and safetensors (exit 77 without); LTRC and LTR_SOURCE say which compiler and sources.

With `--wide` both compute as they do for users, with all that the processor has: PyTorch with 256 bits against PyTorch with
512 differs by 2e-3 in the last loss of keras_cnn.

With LTR_TEST_DEVICES=cuda both compute on the GPU, a hundred steps, with the kernels that PyTorch calls deterministic, in each
precision that `PRECISIONS` names; exit 77 where there is none.

    python programs.py [--wide] [NAME…]
"""
import collections
import contextlib
import csv
import gzip
import math
import os
import pathlib
import subprocess
import sys
import tempfile

WIDE = "--wide" in sys.argv
DEVICE = os.environ.get("LTR_TEST_DEVICES", "cpu")
if not WIDE:
    os.environ["ATEN_CPU_CAPABILITY"] = "avx2"  # read when LibTorch starts, here and in the programs

try:
    import torch
    import torch.nn.functional as F
    from safetensors.torch import load_file
    from torchvision.io import ImageReadMode, decode_image
    from torchvision.transforms.functional import center_crop
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

if DEVICE == "cuda":
    if not torch.cuda.is_available():
        print("skipped: there is no GPU")
        sys.exit(77)
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    # Of the classes of pixels PyTorch has no deterministic loss there: a warning, and sums in another order.
    torch.use_deterministic_algorithms(True, warn_only=True)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run/support"))
from harness import EXAMPLES, LTRC  # noqa: E402

STEPS = 20  # of the program that is compared
# On a GPU both take the same kernels, and more steps show more. Twenty of the CNN with Adadelta multiply a rounding by thousands.
MORE_STEPS = {"iris": 100, "mnist": 100, "forecast": 100, "char_gpt": 100} if DEVICE == "cuda" else {}
WARMUP = 5
# Both sides sum in f32, in orders that differ with the kernels chosen; 20 steps amplify that a little. Two products round
# otherwise in every step, and twenty steps of a CNN or GAN make 4e-4 of that (docs/runtime/speed.md).
TOLERANCE = 1e-3 if WIDE else 1e-4
# As Ltr does, there.
FUSED = {"fused": True} if DEVICE == "cuda" else {}
# How far each precision may be from PyTorch's in the same one: bf16 is autocast there.
PRECISIONS = {"f32": TOLERANCE, "tf32": 1e-3, "bf16": 3e-2} if DEVICE == "cuda" else {"f32": TOLERANCE}
# A weight that training does not move shows nothing.
LEAST_MOVE = 1e-4
# The bottom of a U-Net moves by a millionth in twenty steps, and its gradients are rounding.
LOSSES_ALONE = {"segmentation"}

# What is replaced in the text of each program.
TEXTS = {
    "iris": [("parts[0] |> shuffle(seed)", "rows")],
    "mnist": [("parts[0] |> shuffle(seed)", "mnist(root, train = true)"), ("Dropout(0.25)", "Dropout(0.0)"),
              ("warmup = 20 steps", f"warmup = {WARMUP} steps")],
    "keras_cnn": [(" |> shuffle(seed) |> map(prepare) |> map(jitter)", " |> map(prepare)"),
                  ("Dropout(0.25)", "Dropout(0.0)"), ("Dropout(0.5)", "Dropout(0.0)")],
    "forecast": [(" |> shuffle(seed)", "")],
    "gan": [(" |> shuffle(seed)", ""), ("fake = G(randn(B, latent))", "fake = G(noise)"),
            ("  buffer probe", "  buffer noise: float[128, latent] = randn(128, latent)\n  buffer probe")],
    "char_gpt": [(" |> shuffle(seed)", ""), ("warmup = 100 steps", f"warmup = {WARMUP} steps")],
    "segmentation": [("backs[0] |> map", "image_folder(photos) |> map"), ("train_backs, length = cycle) |> shuffle(seed)", "train_backs, length = cycle)"),
                     ("map(moved)", "map(plain)"),
                     # Adam makes a full step of a gradient, also of one that is nothing but rounding.
                     ("AdamW(net.weights, lr = lr) { schedule = one_cycle(peak = lr) }", "SGD(net.weights, lr = lr, momentum = 0.9)")],
    "text": [("train   = parts[0] |> map(prepare) |> shuffle(seed)", "train   = csv(file) as Row |> map(prepare)"), ("facts(parts[0])", "facts(csv(file) as Row)"),
             ("vocab(parts[0]", "vocab(csv(file) as Row"), ("Dropout(0.4)", "Dropout(0.0)")],
    "tabular": [("parts[0] |> shuffle(seed)", "rows"), ("facts(parts[0])", "facts(rows)"), ("Dropout(0.1)", "Dropout(0.0)")],
    "recommender": [("parts[0] |> shuffle(seed)", "csv(file) as Package"), ("vocab(parts[0]", "vocab(csv(file) as Package"),
                    ("randint(0, ids.shape[0], [1])", "zeros(1).to(i64)"), ("drawn = randint(1, items, [B, negatives])", "drawn = fixed as i64[B, negatives]"),
                    ("  weight liked", "  buffer fixed: i64[64, negatives] = randint(1, items, [64, negatives])\n  weight liked")],
}


def train_ltr(name, folder, precision):
    """Runs the changed copy; returns its losses by column, its initial and its final weights."""
    text = (EXAMPLES / f"{name}.ltr").read_text()
    for old, new in TEXTS[name]:
        if old not in text:
            sys.exit(f"{name}.ltr no longer has: {old}")
        text = text.replace(old, new)
    program = folder / f"{name}.ltr"
    program.write_text(text)

    # Adadelta's first steps divide by what a gradient was squared: a last bit of a plan is a step of its own (run/backends.py).
    backend = ("--backend", "torch") if name == "keras_cnn" else ()

    def fit(out, *options):
        done = subprocess.run([LTRC, "run", program, "fit", "--threads", "1", "--no-bar", "--out", folder / f"{precision}-{out}", "--devices", DEVICE,
                               "--set", f"topology.precision={precision}", "--limit-val", "1", "--set", "trainer.log_every=1", *backend, *options],
                              cwd=EXAMPLES, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{name}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        run = folder / f"{precision}-{out}" / name / "0001"
        return run, load_file(run / "checkpoints/last/weights.safetensors")

    # Weights are saved after an update at the earliest; one with this rate changes no digit of them.
    _, initial = fit("initial", "--steps", "1", "--lr", "1e-30")
    run, final = fit("runs", "--steps", str(STEPS))
    with open(run / "metrics.csv") as file:
        rows = list(csv.DictReader(file))
    losses = {column: [float(row[column]) for row in rows if row[column]] for column in rows[0]
              if column.startswith("train/")}
    return losses, initial, final


def images():
    raw = gzip.decompress((EXAMPLES / "data/mnist-5k/train-images-idx3-ubyte.gz").read_bytes())[16:]
    return torch.frombuffer(bytearray(raw), dtype=torch.uint8).reshape(-1, 28, 28).float()


def labels():
    raw = gzip.decompress((EXAMPLES / "data/mnist-5k/train-labels-idx1-ubyte.gz").read_bytes())[8:]
    return torch.frombuffer(bytearray(raw), dtype=torch.uint8).long()


def batches(size, *fields, drop_last=False):
    """STEPS batches of `size` in order, from the start again where an epoch ends; the last of an epoch may be short, unless it is dropped."""
    fields = [field.to(DEVICE) for field in fields]
    whole = [[field[i:i + size] for field in fields] for i in range(0, len(fields[0]), size)]
    if drop_last and len(whole[-1][0]) < size:
        whole.pop()
    return [whole[step % len(whole)] for step in range(STEPS)]


def linear(w, path, x):
    return F.linear(x, w[f"{path}.weight"], w.get(f"{path}.bias"))


def conv(w, path, x, **options):
    return F.conv2d(x, w[f"{path}.weight"], w[f"{path}.bias"], **options)


def cross_entropy(logits, target):
    """In f32, as Ltr has it: autocast leaves log-probabilities as narrow as the logits are."""
    return F.cross_entropy(logits.float(), target)


def cosine(step, final):
    """The factor of the rate before update `step`: up to 1 in WARMUP steps, then half a cosine down to `final`."""
    if step < WARMUP:
        return (step + 1) / WARMUP
    return final + (1 - final) * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP))) / 2


def loop(w, optimizer, data, loss_of, factor=lambda step: 1.0, clip_norm=None):
    """The plain PyTorch loop; returns the losses."""
    rates = [group["lr"] for group in optimizer.param_groups]
    losses = []
    for step, batch in enumerate(data):
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate * factor(step)
        with NARROW:
            loss = loss_of(*batch)
        optimizer.zero_grad()
        loss.backward()
        if clip_norm:
            torch.nn.utils.clip_grad_norm_(w.values(), clip_norm)
        optimizer.step()
        losses.append(loss.item())
    return {"train/loss": losses}


def iris(w):
    with open(EXAMPLES / "data/iris.csv") as file:
        rows = list(csv.DictReader(file))
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    x = torch.tensor([[float(row[name]) for name in names] for row in rows])
    x = (x - torch.tensor([5.84, 3.06, 3.76, 1.20])) / torch.tensor([0.83, 0.44, 1.77, 0.76])
    y = torch.tensor([["setosa", "versicolor", "virginica"].index(row["species"]) for row in rows])
    return loop(w, torch.optim.Adam(w.values(), lr=0.05, **FUSED), batches(16, x, y),
                lambda x, y: cross_entropy(linear(w, "net.2", linear(w, "net.0", x).relu()), y))


def mnist(w):
    def loss(x, y):
        x = F.max_pool2d(conv(w, "net.conv1", x, padding=1).relu(), 2)
        x = F.max_pool2d(conv(w, "net.conv2", x, padding=1).relu(), 2)
        return cross_entropy(linear(w, "net.fc2", linear(w, "net.fc1", x.flatten(1)).relu()), y)

    x = ((images() / 255 - 0.1307) / 0.3081).unsqueeze(1)
    return loop(w, torch.optim.AdamW(w.values(), lr=1e-3, weight_decay=0.01, **FUSED), batches(64, x, labels(), drop_last=True), loss,
                lambda step: cosine(step, 0.0), clip_norm=1.0)


def keras_cnn(w):
    def loss(x, y):
        x = F.max_pool2d(conv(w, "net.conv2", conv(w, "net.conv1", x).relu()).relu(), 2)
        return cross_entropy(linear(w, "net.fc2", linear(w, "net.fc1", x.flatten(1)).relu()), y)

    return loop(w, torch.optim.Adadelta(w.values(), lr=1.0, rho=0.95, eps=1e-7, foreach=False),
                batches(128, (images() / 255).unsqueeze(1), labels()), loss)


def forecast(w):
    with open(EXAMPLES / "data/sea_temperature.csv") as file:
        celsius = torch.tensor([float(row["celsius"]) for row in csv.DictReader(file)][:600])
    f = ((celsius * 9 / 5 + 32 - 73.4) / 4.0).unfold(0, 25, 1)
    rnn = torch.nn.LSTM(1, 32, batch_first=True)

    def loss(past, target):
        own = {name.removeprefix("rnn."): weight for name, weight in w.items() if name.startswith("rnn.")}
        y, _ = torch.func.functional_call(rnn, own, (past,))
        return F.huber_loss(linear(w, "head", y[:, -1]).float(), target)

    return loop(w, torch.optim.RMSprop(w.values(), lr=1e-2, foreach=False),
                batches(32, f[:, :24].unsqueeze(2), f[:, 24:]), loss)


def gan(w):
    def generate(z):
        for layer in ("G.fc1", "G.fc2"):
            z = F.leaky_relu(linear(w, layer, z), 0.2)
        return linear(w, "G.out", z).tanh()

    def judge(x):
        for layer in ("D.fc1", "D.fc2"):
            x = F.leaky_relu(linear(w, layer, x), 0.2)
        return linear(w, "D.out", x)

    def verdict(logit, target):
        return F.binary_cross_entropy_with_logits(logit, torch.full_like(logit, target))

    noise = w.pop("noise").detach()
    w.pop("probe")
    optimizers = {part: torch.optim.Adam([weight for name, weight in w.items() if name.startswith(part)], lr=2e-4,
                                         betas=(0.5, 0.999), **FUSED) for part in "GD"}
    losses = {"train/d_loss": [], "train/g_loss": []}
    for (image,) in batches(128, (images() / 127.5 - 1).flatten(1), drop_last=True):
        with NARROW:
            fake = generate(noise)
            d_loss = verdict(judge(image), 1.0) + verdict(judge(fake.detach()), 0.0)
        optimizers["D"].zero_grad()
        d_loss.backward()
        optimizers["D"].step()
        with NARROW:
            g_loss = verdict(judge(fake), 1.0)
        optimizers["G"].zero_grad()
        g_loss.backward()
        optimizers["G"].step()
        losses["train/d_loss"].append(d_loss.item())
        losses["train/g_loss"].append(g_loss.item())
    return losses


def char_gpt(w):
    text = (EXAMPLES / "data/shakespeare.txt").read_text()
    ids = {char: i for i, char in enumerate(sorted(set(text)))}
    T, D, heads, layers = 64, 128, 4, 4
    windows = torch.tensor([ids[char] for char in text[:STEPS * 12 * T + 1]]).unfold(0, T + 1, T)

    def norm(path, x):
        return F.layer_norm(x, [D], w[f"{path}.weight"], w[f"{path}.bias"])

    def attend(path, x):
        q, k, v = (part.reshape(-1, T, heads, D // heads).transpose(1, 2)
                   for part in linear(w, f"{path}.qkv", x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return linear(w, f"{path}.proj", y.transpose(1, 2).reshape(-1, T, D))

    def loss(x, y):
        h = F.embedding(x, w["net.tok.weight"]) + w["net.pos.weight"][:T]
        for i in range(layers):
            layer = f"net.body.{i}"
            h = h + attend(f"{layer}.attn", norm(f"{layer}.norm1", h))
            h = h + linear(w, f"{layer}.down", F.gelu(linear(w, f"{layer}.up", norm(f"{layer}.norm2", h))))
        logits = F.linear(norm("net.norm", h), w["net.tok.weight"])
        return cross_entropy(logits.flatten(0, 1), y.flatten())

    plain = [weight for name, weight in w.items() if "norm" in name or name.endswith(".bias")]
    decayed = [weight for name, weight in w.items() if not ("norm" in name or name.endswith(".bias"))]
    optimizer = torch.optim.AdamW([{"params": decayed}, {"params": plain, "weight_decay": 0.0}], lr=1e-3,
                                  betas=(0.9, 0.99), weight_decay=0.1, **FUSED)
    return loop(w, optimizer, batches(12, windows[:, :T], windows[:, 1:]), loss, lambda step: cosine(step, 0.1),
                clip_norm=1.0)


def table(name):
    with open(EXAMPLES / "data" / name) as file:
        return list(csv.DictReader(file))


def segmentation(w):
    photos = [decode_image(path, ImageReadMode.RGB) for path in sorted((EXAMPLES / "data/photo_patches").glob("*/*.jpg"))]
    backs = torch.stack([center_crop(photo, [64, 64]) for photo in photos])
    ink = F.pad(images(), [18] * 4) > 100
    back = backs[torch.arange(len(ink)) % len(backs)]
    x = torch.where(ink.unsqueeze(1), 255 - back, back)[:, :, 8:56, 8:56].float() / 255
    y = ink[:, 8:56, 8:56].long()

    def norm(path, x):
        return F.batch_norm(x, None, None, w[f"{path}.weight"], w[f"{path}.bias"], training=True)

    def double(path, x):
        for i in "12":
            x = norm(f"{path}.bn{i}", F.conv2d(x, w[f"{path}.conv{i}.weight"], padding=1)).relu()
        return x

    def loss(x, y):
        beside = []
        for i in range(1, 5):
            x = double(f"net.down{i}", x)
            beside.append(x)
            x = F.max_pool2d(x, 2)
        x = double("net.bottom", x)
        for i in range(4, 0, -1):
            up = F.conv_transpose2d(x, w[f"net.up{i}.up.weight"], w[f"net.up{i}.up.bias"], stride=2)
            x = double(f"net.up{i}.conv", torch.cat([beside.pop(), up], 1))
        logits = conv(w, "net.head", x)
        p, t = logits.softmax(1)[:, 1].flatten(1), y.float().flatten(1)
        return cross_entropy(logits, y) + (1 - (2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)).mean()

    trained = [weight for weight in w.values() if weight.requires_grad]
    return loop(w, torch.optim.SGD(trained, lr=3e-3, momentum=0.9), batches(32, x, y, drop_last=True), loss)


def text(w):
    rows = table("surnames.csv")
    counts = collections.Counter(letter for row in rows for letter in row["surname"].lower())
    number = {letter: i + 2 for i, letter in enumerate(sorted(counts, key=lambda letter: (-counts[letter], letter)))}
    ids = [torch.tensor([number[letter] for letter in row["surname"].lower()]) for row in rows]
    languages = sorted({row["language"] for row in rows})
    y = torch.tensor([languages.index(row["language"]) for row in rows])
    n = torch.tensor([len(one) for one in ids])
    reader = torch.nn.LSTM(64, 128, batch_first=True)

    def loss(ids, n, y):
        own = {name.removeprefix("reader."): weight for name, weight in w.items() if name.startswith("reader.")}
        ids = ids[:, :n.max()]
        h, _ = torch.func.functional_call(reader, own, (F.embedding(ids, w["table.weight"], padding_idx=0),))
        scores = linear(w, "weigh", h.tanh()).squeeze(2)
        weight = scores.masked_fill(torch.arange(ids.shape[1], device=DEVICE) >= n.unsqueeze(1), -1e9).softmax(1)
        return cross_entropy(linear(w, "head", (h * weight.unsqueeze(2)).sum(1)), y)

    padded = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True)
    return loop(w, torch.optim.AdamW(w.values(), lr=3e-3, weight_decay=0.01, **FUSED), batches(32, padded, n, y), loss,
                lambda step: (1 + math.cos(math.pi * step / STEPS)) / 2, clip_norm=1.0)


def tabular(w):
    rows = [row for row in table("penguins.csv") if row["body_mass_g"]]
    classes = [sorted({row[name] for row in rows} - {""}) for name in ("species", "island", "sex")]
    ids = torch.tensor([[of.index(row[name]) if row[name] else len(of) for name, of in zip(("species", "island", "sex"), classes)] for row in rows])
    numbers = []
    for name in ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "delta_15n", "delta_13c"):
        x = torch.tensor([float(row[name] or "nan") for row in rows], dtype=torch.float64)
        seen = x[~x.isnan()]
        numbers += [(x.nan_to_num(seen.quantile(0.5).item()) - seen.mean()) / seen.std(), x.isnan().double()]
    kg = torch.tensor([float(row["body_mass_g"]) for row in rows], dtype=torch.float64) / 1000

    def loss(ids, numbers, y):
        known = [w[f"of_{name}.weight"][ids[:, i]] for i, name in enumerate(("species", "island", "sex"))] + [numbers]
        return F.mse_loss(kg.mean().item() + kg.std().item() * linear(w, "net.3", linear(w, "net.0", torch.cat(known, 1)).relu()).squeeze(1), y)

    return loop(w, torch.optim.AdamW(w.values(), lr=3e-3, weight_decay=0.01, **FUSED), batches(16, ids, torch.stack(numbers, 1).float(), kg.float()), loss,
                lambda step: (1 + math.cos(math.pi * step / STEPS)) / 2)


def recommender(w):
    needs = [row["needs"].split() for row in table("depends.csv")]
    counts = collections.Counter(name for names in needs for name in names)
    number = {name: i + 1 for i, name in enumerate(sorted(counts, key=lambda name: (-counts[name], name)))}
    ids = [torch.tensor([number[name] for name in names]) for names in needs]
    fixed = w.pop("fixed")

    def loss(known, wanted):
        is_right = (fixed.unsqueeze(2) == known.unsqueeze(1)).any(2) | (fixed == wanted.unsqueeze(1))
        told = F.embedding_bag(known, w["known_as.weight"], mode="mean", padding_idx=0)
        told = linear(w, "tower.2", linear(w, "tower.0", told).relu())
        chosen = torch.cat([wanted.unsqueeze(1), fixed], 1)
        scores = (w["item.weight"][chosen] * told.unsqueeze(1)).sum(2) + w["liked"][chosen]
        scores = torch.cat([scores[:, :1], scores[:, 1:].masked_fill(is_right, -1e9)], 1)
        return cross_entropy(scores, torch.zeros_like(wanted))

    padded = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True)
    return loop(w, torch.optim.Adam(w.values(), lr=5e-3, **FUSED), batches(64, padded[:, 1:], padded[:, 0]), loss)


def compare(name, folder, precision):
    """Prints one line; true if losses and weights agree."""
    global NARROW, STEPS
    STEPS = MORE_STEPS.get(name, 20)
    losses, initial, final = train_ltr(name, folder, precision)
    w = {path: weight.to(DEVICE, copy=True).requires_grad_(weight.is_floating_point()) for path, weight in initial.items()}
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    NARROW = torch.autocast(DEVICE, torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()
    expected = globals()[name](w)
    w = {path: weight.detach().cpu() for path, weight in w.items()}
    loss_gap = max(abs(ours - theirs) / abs(theirs) for column in expected
                   for ours, theirs in zip(losses[column], expected[column], strict=True))
    tolerance = PRECISIONS[precision]
    fine = loss_gap <= tolerance
    line = f"{STEPS} losses within {loss_gap:.1e}"
    if name not in LOSSES_ALONE:
        gaps = {path: ((final[path] - weight.detach()).norm() / weight.detach().norm().clamp(min=1e-12)).item()
                for path, weight in w.items()}
        moved = min(((final[path] - initial[path]).norm() / initial[path].norm().clamp(min=1e-12)).item() for path in w)
        worst = max(gaps, key=gaps.get)
        fine = fine and gaps[worst] <= tolerance and moved > LEAST_MOVE
        line += f", weights within {gaps[worst]:.1e} ({worst}); every weight moved by {moved:.1e} or more"
    print(f"{'ok  ' if fine else 'FAIL'} {name}, {precision}: {line}", flush=True)
    if not fine:
        for column in expected:
            far = [step for step, (ours, theirs) in enumerate(zip(losses[column], expected[column])) if abs(ours - theirs) > tolerance * abs(theirs)]
            print(f"     {column}: beyond it in steps {far[:5]}")
            print(f"     {column}  ltr {losses[column][:6]}\n     {'':{len(column)}}  torch {expected[column][:6]}")
    return fine


torch.set_num_threads(1)
with tempfile.TemporaryDirectory(prefix="ltr-") as place:
    results = [compare(name, pathlib.Path(place), precision) for precision in PRECISIONS
               for name in [word for word in sys.argv[1:] if word != "--wide"] or TEXTS
               # Autocast computes recurrent layers in f16, whatever it is asked for; bits of what is masked or near zero are lost in bf16.
               if precision != "bf16" or name not in ("forecast", "text", "recommender", "segmentation", "tabular")]
sys.exit(0 if all(results) else 1)
