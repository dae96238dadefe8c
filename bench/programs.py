"""What is measured: our programs, their twins in PyTorch, and the data that both read."""
import gzip
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset, TensorDataset
from torchvision import transforms
from torchvision.models import resnet18

from ltr import SOURCE

TEXT = (SOURCE / "examples/data/shakespeare.txt").read_text()


class Attention(nn.Module):
    def __init__(self, D, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(D, 3 * D, bias=False)
        self.proj = nn.Linear(D, D, bias=False)

    def forward(self, x):
        B, S, D = x.shape
        q, k, v = (part.view(B, S, self.heads, D // self.heads).transpose(1, 2)
                   for part in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(B, S, D))


class Layer(nn.Module):
    def __init__(self, D, heads):
        super().__init__()
        self.norm1, self.attn, self.norm2 = nn.LayerNorm(D), Attention(D, heads), nn.LayerNorm(D)
        self.up, self.down = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

    def forward(self, x):
        h = x + self.attn(self.norm1(x))
        return h + self.down(F.gelu(self.up(self.norm2(h))))


class Gpt(nn.Module):
    def __init__(self, vocab=len(set(TEXT)), T=64, D=128, layers=4, heads=4):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, D), nn.Embedding(T, D)
        self.body = nn.Sequential(*[Layer(D, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, vocab, bias=False)
        self.head.weight = self.tok.weight

    def forward(self, x):
        h = self.tok(x) + self.pos(torch.arange(x.shape[1], device=x.device))
        return self.head(self.norm(self.body(h))).transpose(1, 2)


def mlp(*widths):
    layers = []
    for one, next_one in zip(widths, widths[1:]):
        layers += [nn.Linear(one, next_one), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def keras_cnn():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Dropout(0.25), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5),
                         nn.Linear(128, 10))


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.LSTM(32, 128, num_layers=2, batch_first=True), nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.LSTM(8, 64, batch_first=True), nn.Linear(64, 1)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


class Clicker(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.mlp = nn.Embedding(1_000_000, 16), mlp(26 * 16 + 13, 128, 64, 2)

    def forward(self, x):
        ids, points = x
        return self.mlp(torch.cat([self.table(ids).flatten(1), points], 1))


def double(inputs, outputs):
    layers = []
    for size in (inputs, outputs):
        layers += [nn.Conv2d(size, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class Unet(nn.Module):
    def __init__(self, classes=2, size=16):
        super().__init__()
        sizes = [size * 2 ** i for i in range(5)]
        self.down = nn.ModuleList(double(a, b) for a, b in zip([3] + sizes, sizes))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * one, one, 2, 2) for one in sizes[:4])
        self.join = nn.ModuleList(double(2 * one, one) for one in sizes[:4])
        self.head = nn.Conv2d(size, classes, 1)

    def forward(self, x):
        beside = []
        for down in self.down:
            x = down(x if not beside else F.max_pool2d(x, 2))
            beside.append(x)
        for one, up, join in zip(beside[-2::-1], list(self.up)[::-1], list(self.join)[::-1]):
            x = join(torch.cat([one, up(x)], 1))
        return self.head(x)


# ---- data: the files that both sides read

IDX_TYPES = {0x08: np.dtype("u1"), 0x0D: np.dtype(">f4")}


def write_idx(path, values):
    code = next(code for code, dtype in IDX_TYPES.items() if dtype.kind == values.dtype.kind)
    head = bytes([0, 0, code, values.ndim]) + np.array(values.shape, ">u4").tobytes()
    pathlib.Path(path).write_bytes(head + values.astype(IDX_TYPES[code]).tobytes())


def read_idx(path):
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as file:
        content = file.read()
    count = content[3]
    shape = np.frombuffer(content, ">u4", count, 4)
    return np.frombuffer(content, IDX_TYPES[content[2]], offset=4 + 4 * count).reshape(shape)


def write_data(folder):
    """Random files for the programs in this folder, at `folder`."""
    draw = np.random.default_rng(0)
    write_idx(folder / "points-32.idx", draw.standard_normal((20000, 32)))
    write_idx(folder / "points-784.idx", draw.standard_normal((20000, 784)))
    write_idx(folder / "sequences.idx", draw.standard_normal((3200, 64, 32)))
    write_idx(folder / "labels.idx", draw.integers(0, 2, 20000).astype("u1"))
    write_idx(folder / "points-13.idx", draw.standard_normal((20000, 13)))
    write_idx(folder / "rows.idx", draw.integers(0, 1_000_000, (20000, 26)).astype("f4"))
    write_idx(folder / "series.idx", draw.standard_normal((3200, 48, 8)))
    write_idx(folder / "images.idx", draw.integers(0, 256, (640, 3, 64, 64)).astype("u1"))


def files(points, labels):
    x, y = torch.tensor(read_idx(points).astype("f4")), torch.tensor(read_idx(labels).astype("i8"))
    return TensorDataset(x, y[:len(x)])


class Clicks(Dataset):
    def __init__(self):
        self.ids = torch.tensor(read_idx("rows.idx").astype("i8"))
        self.points = torch.tensor(read_idx("points-13.idx").astype("f4"))
        self.labels = torch.tensor(read_idx("labels.idx").astype("i8"))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return (self.ids[index], self.points[index]), self.labels[index]


class Images(Dataset):
    """With a class each, or with one for each pixel."""

    def __init__(self, has_masks):
        self.images, self.has_masks = torch.tensor(read_idx("images.idx")), has_masks
        self.labels = torch.tensor(read_idx("labels.idx").astype("i8"))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = self.images[index]
        return image.float() / 255, (image[0] > 127).long() if self.has_masks else self.labels[index]


def series():
    values = torch.tensor(read_idx("series.idx").astype("f4"))
    return TensorDataset(values, values[:, 0, 0:1])


class Digits(Dataset):
    """The digits of examples/keras_cnn.ltr, moved and turned a little, each time another way."""

    def __init__(self):
        folder = SOURCE / "examples/data/mnist-5k"
        images, labels = (read_idx(next(folder.glob(f"train-{part}*"))) for part in ("images", "labels"))
        self.images = torch.tensor(images.astype("f4") / 255).unsqueeze(1)
        self.labels = torch.tensor(labels.astype("i8"))
        self.jitter = transforms.RandomAffine(8, translate=(0.08, 0.08), scale=(0.95, 1.05))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.jitter(self.images[index]), self.labels[index]


class Characters(Dataset):
    """Windows of 64 characters of examples/char_gpt.ltr, and those behind each."""

    def __init__(self):
        number = {c: i for i, c in enumerate(sorted(set(TEXT)))}
        self.ids = torch.tensor([number[c] for c in TEXT[:len(TEXT) * 9 // 10]])

    def __len__(self):
        return (len(self.ids) - 1) // 64

    def __getitem__(self, index):
        window = self.ids[index * 64:index * 64 + 65]
        return window[:-1], window[1:]


# ---- optimizers


def adam(net, **options):
    return torch.optim.Adam(net.parameters(), lr=1e-3, **options)


def sgd(momentum=0.0, lr=0.01):
    return lambda net, **options: torch.optim.SGD(net.parameters(), lr=lr, momentum=momentum, **options)


def adadelta(net):
    return torch.optim.Adadelta(net.parameters(), lr=1.0, rho=0.95, eps=1e-7)


def adamw(net, **options):
    plain = [w for name, w in net.named_parameters() if "norm" in name or name.endswith(".bias")]
    decayed = [w for name, w in net.named_parameters() if not ("norm" in name or name.endswith(".bias"))]
    return torch.optim.AdamW([{"params": decayed}, {"params": plain, "weight_decay": 0.0}], lr=1e-3,
                             betas=(0.9, 0.99), weight_decay=0.1, **options)


def cosine(total):
    """The rate's factor of char_gpt.ltr."""
    return lambda t: (t + 1) / 100 if t < 100 else 0.1 + 0.45 * (1 + math.cos(math.pi * (t - 100) / (total - 100)))


class Program:
    """One row of the table: our program and its twin in PyTorch. `data` makes the dataset that the twin reads."""

    def __init__(self, name, source, make, optimizer, data, batch_size, steps, clip=None, schedule=None, has_fused=True,
                 workers=0, loss=F.cross_entropy, jax=None):
        self.loss, self.jax = loss, jax      # jax: the widths that jax_twin.py takes, where it has a twin
        self.name, self.source, self.make, self.optimizer = name, SOURCE / source, make, optimizer
        self.data, self.batch_size, self.few, self.many = data, batch_size, steps[0], steps[1]
        self.clip, self.schedule, self.has_fused, self.workers = clip, schedule, has_fused, workers


PROGRAMS = [
    Program("tiny MLP", "bench/tiny_mlp.ltr", lambda: mlp(32, 64, 64, 2), adam,
            lambda: files("points-32.idx", "labels.idx"), 64, (200, 12200), jax="32-64-64-2"),
    Program("MLP", "bench/mlp.ltr", lambda: mlp(784, 512, 512, 10), adam,
            lambda: files("points-784.idx", "labels.idx"), 128, (10, 610), jax="784-512-512-10"),
    Program("Keras CNN", "examples/keras_cnn.ltr", keras_cnn, adadelta, Digits, 128, (3, 35), has_fused=False, workers=1),
    Program("char GPT", "examples/char_gpt.ltr", Gpt, adamw, Characters, 12, (2, 62), clip=1.0, schedule=cosine),
    Program("LSTM", "bench/lstm.ltr", Reader, adam, lambda: files("sequences.idx", "labels.idx"), 32, (2, 122), clip=1.0),
    Program("forecast LSTM", "bench/forecast.ltr", Forecaster, adam, series, 32, (10, 1210), loss=F.mse_loss),
    Program("embeddings", "bench/embeddings.ltr", Clicker, sgd(lr=0.1), Clicks, 128, (4, 204)),
    Program("U-Net", "bench/unet.ltr", Unet, adam, lambda: Images(has_masks=True), 8, (2, 42)),
    Program("ResNet-18", "bench/resnet.ltr", lambda: resnet18(num_classes=10), sgd(momentum=0.9),
            lambda: Images(has_masks=False), 32, (2, 18)),
]
