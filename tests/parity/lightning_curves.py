#!/usr/bin/env python3
"""The programs of lightning_curves.ltr and their LightningModules: 200 updates from the same weights with the same batches.

Losses of training, relative to Lightning's, within 1e-4, all of them; losses and metrics of every round within 1e-4 of
what rounding left of the weights, and a round over the same weights within 1e-6: there only the metric is at work.
Needs pytorch-lightning (exit 77 without); LTRC and LTR_SOURCE say which compiler and sources.

    python lightning_curves.py [NAME…]
"""
import csv
import logging
import math
import os
import pathlib
import sys
import tempfile
import warnings

try:
    import numpy as np
    import pytorch_lightning as pl
    import torch
    import torch.nn.functional as F
    import torchmetrics
    from pytorch_lightning.callbacks import EMAWeightAveraging
    from safetensors.torch import load_file, save_file
    from torch import nn
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run/support"))
from harness import build, check, failures, run  # noqa: E402

STEPS, SIZE, EPOCH = 200, 8, 40  # updates, rows of a batch, batches of an epoch
TOLERANCE, OF_METRICS = 1e-4, 1e-6


def rows(count, seed):
    """Rows that can be learnt, and not at once: the label is what a fixed matrix says of noisy inputs."""
    draw = np.random.default_rng(seed)
    rule = np.random.default_rng(0)
    x = draw.normal(size=(count, 16))
    y = (x @ rule.normal(size=(16, 4)) + draw.normal(size=(count, 4))).argmax(1)
    image = draw.normal(size=(count, 1, 8, 8)) + rule.normal(size=(4, 1, 8, 8))[y]
    series = draw.normal(size=(count, 10, 3)).cumsum(1) / 3
    ids = (np.arange(13) * (1 + y[:, None]) + draw.integers(0, 20, (count, 1))) % 20
    columns = {"x": x, "image": image, "series": series, "t": np.sin(series[:, -1].sum(1)) + series[:, 0, 0],
               "labels": x @ rule.normal(size=(16, 5)) + draw.normal(size=(count, 5)) > 0}
    return {name: column.astype(np.float32) for name, column in columns.items()} | {"y": y, "ids": ids}


class Rows(torch.utils.data.Dataset):
    def __init__(self, columns, names):
        self.columns = [torch.from_numpy(columns[name]) for name in names]

    def __len__(self):
        return len(self.columns[0])

    def __getitem__(self, i):
        return tuple(column[i] for column in self.columns)


class Mlp(nn.Module):
    def __init__(self, inputs, inner, outputs):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(inputs, inner), nn.Linear(inner, outputs)

    def forward(self, x):
        return self.fc2(self.fc1(x).relu())


class Twin(pl.LightningModule):
    """What the modules share. `losses` are those of all batches, by column; `rounds` what each round said."""
    columns, trainer_settings, metrics = ("x", "y"), {}, {}

    def __init__(self):
        super().__init__()
        self.losses, self.rounds = {}, []
        self.measured = {name: make() for name, make in self.metrics.items()}

    def saw(self, name, loss):
        self.losses.setdefault(f"train/{name}", []).append(loss.item())
        return loss

    def training_step(self, batch, _):
        return self.saw("loss", self.loss(*batch))

    def validation_step(self, batch, _):
        with torch.no_grad():
            loss, scores, target = self.judge(*batch)
        self.log("val/loss", loss, batch_size=len(target))
        for metric in self.measured.values():
            metric.update(scores, target)

    def on_validation_epoch_end(self):
        for name, metric in self.measured.items():
            self.log(f"val/{name}", metric.compute())
            metric.reset()

    def judge(self, x, y):
        z = self.net(x)
        return F.cross_entropy(z, y), z, y


def classes(kind, **how):
    return lambda: kind(task="multiclass", num_classes=4, **how)


class Accumulated(Twin):
    trainer_settings = {"accumulate_grad_batches": 4, "gradient_clip_val": 0.5}
    metrics = {"acc": classes(torchmetrics.Accuracy), "f1": classes(torchmetrics.F1Score, average="macro")}

    def __init__(self):
        super().__init__()
        self.net = Mlp(16, 32, 4)

    def loss(self, x, y):
        return F.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)


def each_step(optimizer, factor):
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    return [optimizer], [{"scheduler": schedule, "interval": "step"}]


def cosine(warmup, final=0.0):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        return final + (1 - final) * (1 + math.cos(math.pi * (step - warmup) / (STEPS - warmup))) / 2

    return factor


class Warmed(Twin):
    metrics = {"kappa": classes(torchmetrics.CohenKappa)}

    def __init__(self):
        super().__init__()
        self.net = Mlp(16, 32, 4)

    def loss(self, x, y):
        return F.cross_entropy(self.net(x), y, label_smoothing=0.1)

    def configure_optimizers(self):
        biases = [weight for name, weight in self.named_parameters() if name.endswith("bias")]
        others = [weight for name, weight in self.named_parameters() if not name.endswith("bias")]
        groups = [{"params": others}, {"params": biases, "weight_decay": 0.0}]
        return each_step(torch.optim.AdamW(groups, lr=0.01, weight_decay=0.1), cosine(20))


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.head = nn.Linear(8 * 4 * 4, 4)

    def forward(self, x):
        return self.head(F.max_pool2d(self.norm(self.conv(x)).relu(), 2).flatten(1))


class Convolved(Twin):
    columns = ("image", "y")
    metrics = {"auroc": classes(torchmetrics.AUROC)}

    def __init__(self):
        super().__init__()
        self.net = Normed()

    def loss(self, x, y):
        return F.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.7)]


class Adversarial(Twin):
    trainer_settings = {"max_steps": 2 * STEPS, "limit_val_batches": 0}  # Lightning counts updates of either

    def __init__(self):
        super().__init__()
        self.G, self.D = Mlp(16, 24, 16), Mlp(16, 24, 1)
        self.automatic_optimization = False

    def training_step(self, batch, _):
        x = batch[0]
        opt_g, opt_d = self.optimizers()
        fake = self.G(x.flip(1))
        real, none = torch.ones(len(x), 1), torch.zeros(len(x), 1)
        d_loss = self.saw("d_loss", F.binary_cross_entropy_with_logits(self.D(x), real)
                          + F.binary_cross_entropy_with_logits(self.D(fake.detach()), none))
        self.update(d_loss, opt_d)
        self.update(self.saw("g_loss", F.binary_cross_entropy_with_logits(self.D(fake), real)), opt_g)

    def update(self, loss, optimizer):
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()

    def configure_optimizers(self):
        return [torch.optim.Adam(part.parameters(), lr=1e-3, betas=(0.5, 0.999)) for part in (self.G, self.D)]


class Averaged(Twin):
    metrics = {"acc": classes(torchmetrics.Accuracy, average="macro")}

    def __init__(self):
        super().__init__()
        self.net = Mlp(16, 32, 4)

    def loss(self, x, y):
        return F.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)

    def configure_callbacks(self):
        return [EMAWeightAveraging(decay=0.9)]


class Attentive(Twin):
    columns = ("ids",)
    trainer_settings = {"accumulate_grad_batches": 2, "gradient_clip_val": 1.0}
    metrics = {"perplexity": torchmetrics.text.Perplexity}

    def __init__(self):
        super().__init__()
        self.tok, self.head = nn.Embedding(20, 16), nn.Linear(16, 20)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, norm_first=True, batch_first=True)
        self.mask = nn.Transformer.generate_square_subsequent_mask(12)

    def forward(self, ids):
        return self.head(self.layer(self.tok(ids), self.mask, is_causal=True))

    def loss(self, ids):
        return F.cross_entropy(self(ids[:, :12]).flatten(0, 1), ids[:, 1:].flatten())

    def judge(self, ids):
        z = self(ids[:, :12])
        return F.cross_entropy(z.flatten(0, 1), ids[:, 1:].flatten()), z, ids[:, 1:]

    def configure_optimizers(self):
        return each_step(torch.optim.AdamW(self.parameters(), lr=5e-3, betas=(0.9, 0.95)), cosine(10, 0.1))


class Recurrent(Twin):
    columns = ("series", "t")
    metrics = {"mae": torchmetrics.MeanAbsoluteError, "r2": torchmetrics.R2Score}

    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.LSTM(3, 12, batch_first=True), nn.Linear(12, 1)

    def forward(self, series):
        return self.head(self.rnn(series)[0][:, -1]).squeeze(1)

    def loss(self, series, t):
        return F.huber_loss(self(series), t)

    def judge(self, series, t):
        p = self(series)
        return F.mse_loss(p, t), p, t

    def configure_optimizers(self):
        optimizer = torch.optim.RMSprop(self.parameters(), lr=5e-3)
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "monitor": "val/loss"}}


class Labelled(Twin):
    columns = ("x", "labels")
    trainer_settings = {"gradient_clip_val": 0.01, "gradient_clip_algorithm": "value"}
    metrics = {"f1": lambda: torchmetrics.classification.MultilabelF1Score(5),
               "auroc": lambda: torchmetrics.AUROC(task="multilabel", num_labels=5)}

    def __init__(self):
        super().__init__()
        self.net = Mlp(16, 32, 5)

    def loss(self, x, labels):
        return F.binary_cross_entropy_with_logits(self.net(x), labels, pos_weight=torch.tensor([1.0, 2.0, 1.0, 0.5, 1.0]))

    def judge(self, x, labels):
        z = self.net(x)
        return F.binary_cross_entropy_with_logits(z, labels), z, labels.long()

    def configure_optimizers(self):
        return torch.optim.Adagrad(self.parameters(), lr=0.05)


class Rounds(pl.Callback):
    def on_validation_end(self, trainer, module):
        module.rounds.append({name: value.item() for name, value in trainer.callback_metrics.items()})


def train_lightning(module, data):
    settings = {"max_steps": STEPS, "num_sanity_val_steps": 0, "enable_checkpointing": False, "logger": False,
                "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu", "callbacks": [Rounds()]}
    trainer = pl.Trainer(**(settings | module.trainer_settings))
    trainer.fit(module, *(torch.utils.data.DataLoader(Rows(data[part], module.columns), SIZE) for part in ("train", "val")))
    window = module.trainer_settings.get("accumulate_grad_batches", 1)
    losses = {name: [sum(all_of[i:i + window]) / window for i in range(0, len(all_of), window)]
              for name, all_of in module.losses.items()}
    return losses, module.rounds


def train_ltr(program, name, folder, start):
    done = run(program, "fit", name, "--weights", start, "--threads", "1", "--no-bar", "--out", folder / "runs", cwd=folder)
    if done.returncode != 0:
        sys.exit(f"{name}: exit {done.returncode}\n{done.text}")
    out = folder / "runs" / name / "0001"
    with open(out / "metrics.csv") as file:
        table = list(csv.DictReader(file))
    losses = {column: [float(row[column]) for row in table if row[column]] for column in table[0] if column.startswith("train/")}
    rounds = [{column: float(row[column]) for column in row if column.startswith("val/")} for row in table if row.get("val/loss")]
    return losses, rounds, out


def far(ours, theirs):
    """The largest distance, relative to theirs, of numbers that are about 1."""
    if len(ours) != len(theirs) or not ours:
        return math.inf
    return max(abs(a - b) / max(abs(b), 0.1) for a, b in zip(ours, theirs))


def compare(name, program, folder, data):
    torch.manual_seed(3)
    module = globals()[name.capitalize()]()
    start = folder / f"{name}.safetensors"
    save_file({path: weight.clone() for path, weight in module.state_dict().items()}, start)
    their_losses, their_rounds = train_lightning(module, data)
    losses, rounds, _ = train_ltr(program, name, folder, start)
    for column, theirs in their_losses.items():
        gap = far(losses.get(column, []), theirs)
        check(f"{name}: {len(theirs)} of {column} within {TOLERANCE}: {gap:.1e}", gap <= TOLERANCE,
              f"ltr       {losses.get(column, [])[:6]}\nlightning {theirs[:6]}")
    for column in their_rounds[0] if their_rounds else ():
        ours, theirs = [one.get(column, math.nan) for one in rounds], [one[column] for one in their_rounds]
        gap = far(ours, theirs)
        # A metric that counts moves by a whole row where rounding moves a decision: none did.
        tolerance = TOLERANCE if column in ("val/loss", "val/perplexity", "val/mae", "val/r2") else OF_METRICS
        check(f"{name}: {len(theirs)} of {column} within {tolerance}: {gap:.1e}", gap <= tolerance,
              f"ltr       {ours}\nlightning {theirs}")


def main(names):
    warnings.filterwarnings("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="ltr-") as place:
        folder = pathlib.Path(place)
        data = {part: rows(count, seed) for part, count, seed in (("train", SIZE * EPOCH, 1), ("val", 100, 2))}
        for part, columns in data.items():
            np.savez(folder / f"rows.{part}.npz", **columns)
        program = build(pathlib.Path(__file__).with_suffix(".ltr"), folder)
        for name in names or [kind.__name__.lower() for kind in Twin.__subclasses__()]:
            compare(name, program, folder, data)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
