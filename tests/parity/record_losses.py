#!/usr/bin/env python3
"""Records losses, activations and layers of PyTorch for runtime/tensor/parity_test.cpp: writes losses.json beside itself.

    python record_losses.py       needs torch 2.11

Inputs are sin(0.7 i + shift) over flat places i, in f64; each row has the value and the gradient by the first input.
"""
import json
import pathlib

import torch
import torch.nn.functional as F


def wave(shape, shift=0.0):
    n = 1
    for s in shape:
        n *= s
    return torch.sin(0.7 * torch.arange(n, dtype=torch.float64) + shift).reshape(shape)


LABEL = torch.tensor([1, 0, 4, 2, 3, 1])
X = [6, 5]
ROWS = {
    "cross_entropy": lambda x: F.cross_entropy(x, LABEL),
    "cross_entropy smoothed": lambda x: F.cross_entropy(x, LABEL, label_smoothing=0.1),
    "cross_entropy weighted": lambda x: F.cross_entropy(x, LABEL, weight=wave([5], 1.0).abs() + 0.1),
    "cross_entropy ignoring": lambda x: F.cross_entropy(x, LABEL, ignore_index=1),
    "cross_entropy sum": lambda x: F.cross_entropy(x, LABEL, reduction="sum"),
    "bce_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, wave(X, 2.0).abs()),
    "mse": lambda x: F.mse_loss(x, wave(X, 2.0)),
    "l1": lambda x: F.l1_loss(x, wave(X, 2.0)),
    "huber": lambda x: F.huber_loss(x, wave(X, 2.0), delta=0.5),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, wave(X, 2.0), beta=0.5),
    "kl_div": lambda x: F.kl_div(F.log_softmax(x, 1), F.softmax(wave(X, 2.0), 1), reduction="batchmean"),
    "poisson_nll": lambda x: F.poisson_nll_loss(x, wave(X, 2.0).abs()),
    "gaussian_nll": lambda x: F.gaussian_nll_loss(x, wave(X, 2.0), wave(X, 3.0).abs() + 0.1),
    "triplet_margin": lambda x: F.triplet_margin_loss(x, wave(X, 2.0), wave(X, 3.0)),
    "gelu": lambda x: F.gelu(x).square().sum(),
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh").square().sum(),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2).square().sum(),
    "silu": lambda x: F.silu(x).square().sum(),
    "mish": lambda x: F.mish(x).square().sum(),
    "softplus": lambda x: F.softplus(x).square().sum(),
    "layer_norm": lambda x: F.layer_norm(x, [5], wave([5], 1.0), wave([5], 2.0)).square().sum(),
    "rms_norm": lambda x: F.rms_norm(x, [5], wave([5], 1.0), eps=1e-6).square().sum(),
    "linear": lambda x: F.linear(x, wave([3, 5], 1.0), wave([3], 2.0)).square().sum(),
    "linear 3d": lambda x: F.linear(x.reshape(2, 3, 5), wave([3, 5], 1.0), wave([3], 2.0)).square().sum(),
    "linear no bias": lambda x: F.linear(x, wave([3, 5], 1.0)).square().sum(),
    "attention causal": lambda x: F.scaled_dot_product_attention(
        x.reshape(1, 1, 6, 5), wave([1, 1, 6, 5], 1.0), wave([1, 1, 6, 5], 2.0), is_causal=True).square().sum(),
    "lstm": lambda x: lstm(x),
    "gru both ways": lambda x: gru(x),
    "rnn relu": lambda x: rnn(x),
    "cross_entropy soft": lambda x: F.cross_entropy(x, F.softmax(wave(X, 2.0), 1), label_smoothing=0.1),
    "cross_entropy places": lambda x: F.cross_entropy(x.reshape(2, 5, 3), LABEL.reshape(2, 3)),
    "nll": lambda x: F.nll_loss(F.log_softmax(x, 1), LABEL),
    "bce": lambda x: F.binary_cross_entropy(x.sigmoid(), wave(X, 2.0).abs()),
    "bce_with_logits weighted": lambda x: F.binary_cross_entropy_with_logits(
        x, wave(X, 2.0).abs(), pos_weight=wave([5], 1.0).abs() + 0.1),
    "hinge": lambda x: F.hinge_embedding_loss(x, wave(X, 2.0).sign()),
    "cosine_embedding": lambda x: F.cosine_embedding_loss(x, wave(X, 2.0), wave([6], 1.0).sign(), margin=0.2),
    "ctc": lambda x: F.ctc_loss(F.log_softmax(x.reshape(3, 2, 5), 2), torch.tensor([[1, 2], [3, 3]]),
                                torch.tensor([3, 3]), torch.tensor([2, 1])),
    "elu": lambda x: F.elu(x, 0.5).square().sum(),
    "selu": lambda x: F.selu(x).square().sum(),
    "hardswish": lambda x: F.hardswish(x).square().sum(),
    "logsigmoid": lambda x: F.logsigmoid(x).square().sum(),
    "relu6": lambda x: F.relu6(x * 9).square().sum(),
    "prelu": lambda x: F.prelu(x, wave([5], 1.0)).square().sum(),
    "glu": lambda x: F.glu(x.reshape(5, 6)).square().sum(),
    "group_norm": lambda x: F.group_norm(x.reshape(1, 6, 5), 3, wave([6], 1.0), wave([6], 2.0)).square().sum(),
    "instance_norm": lambda x: (F.instance_norm(x.reshape(2, 3, 5)) * wave([2, 3, 5], 1.0)).square().sum(),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x.reshape(1, 2, 3, 5), wave([2, 2, 3, 3], 1.0), wave([4], 2.0), stride=2,
                                                     padding=1, output_padding=1, groups=2).square().sum(),
    "interpolate": lambda x: F.interpolate(x.reshape(1, 1, 6, 5), (9, 8), mode="bicubic").square().sum(),
    # PyTorch has none of these: they are their papers' formulas.
    "focal": lambda x: focal(x, 2.0).mean(),
    "focal sum": lambda x: focal(x, 0.5).sum(),
    "dice": lambda x: dice(x.sigmoid(), wave(X, 2.0).abs(), 1.0),
    "dice sharp": lambda x: dice(x.sigmoid(), (wave(X, 2.0) > 0).double(), 0.0),
    "contrastive": lambda x: contrastive(x, wave(X, 2.0), 0.07),
    "contrastive warm": lambda x: contrastive(x, wave(X, 2.0), 1.0),
    "contrastive second": lambda x: contrastive(wave(X, 2.0), x, 0.3),
}


def focal(x, gamma):
    """Lin et al. 2017, without alpha, of each sample."""
    right = torch.stack([row.softmax(0)[label] for row, label in zip(x, LABEL)])
    return -((1 - right) ** gamma) * right.log()


def dice(p, y, smooth):
    """Milletari et al. 2016 without squares, a mean over samples."""
    return torch.stack([1 - (2 * (a * b).sum() + smooth) / (a.sum() + b.sum() + smooth) for a, b in zip(p, y)]).mean()


def contrastive(a, b, temperature):
    """InfoNCE, van den Oord et al. 2018: each row of `a` picks its own among the rows of `b`."""
    each = [F.cosine_similarity(row.unsqueeze(0), b, dim=1) / temperature for row in a]
    return torch.stack([scores.logsumexp(0) - scores[i] for i, scores in enumerate(each)]).mean()


def lstm(x):
    net = torch.nn.LSTM(5, 2, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for shift, p in enumerate(net.parameters()):
            p.copy_(wave(list(p.shape), float(shift)))
    y, (h, c) = net(x.reshape(2, 3, 5))
    return y.square().sum() + h.sum() + c.sum()


def gru(x):
    net = torch.nn.GRU(5, 2, batch_first=True, bidirectional=True, dtype=torch.float64)
    with torch.no_grad():
        for shift, p in enumerate(net.parameters()):
            p.copy_(wave(list(p.shape), float(shift)))
    y, h = net(x.reshape(2, 3, 5))
    return y.square().sum() + h.sum()


def rnn(x):
    net = torch.nn.RNN(5, 2, nonlinearity="relu", batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for shift, p in enumerate(net.parameters()):
            p.copy_(wave(list(p.shape), float(shift)))
    y, h = net(x.reshape(2, 3, 5))
    return y.square().sum() + h.sum()


if __name__ == "__main__":
    rows = []
    for name, f in ROWS.items():
        x = wave(X).requires_grad_(True)
        value = f(x)
        value.backward()
        rows.append({"name": name, "value": value.item(), "grad": x.grad.flatten().tolist()})
    path = pathlib.Path(__file__).with_name("losses.json")
    path.write_text(json.dumps({"torch": torch.__version__, "rows": rows}, indent=1) + "\n")
