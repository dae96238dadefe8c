"""Writes tests/parity/library.ltr: what the library says in Ltr itself, layers, losses and functions, against PyTorch: the value and
the gradient by the first input.

    python3 record_library.py > library.ltr        needs torch and torchvision

Inputs are sin(0.7 i + shift) over flat places i; what comes out is weighted with such numbers and summed. Computed there in f64 and here in
f32: values and gradients lie within 2e-5 of the largest of them, or of 1.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision

TOLERANCE = 2e-5


def wave(shape, shift=0.0):
    return torch.sin(0.7 * torch.arange(math.prod(shape), dtype=torch.float64) + shift).reshape(shape)


def text(shape, shift=0.0):
    return f"wave({math.prod(shape)}, {shift}).reshape({', '.join(map(str, shape))})"


LINE, IMAGE, VOLUME, ROWS = (2, 3, 7), (2, 4, 6, 8), (2, 3, 5, 6, 7), (6, 5)
LABEL = torch.tensor([1, 0, 4, 2, 3, 1])
LABELS = "stack([1, 0, 4, 2, 3, 1])"
# 0 or 1, some of each.
TRUTH, TRUTHS = (wave(ROWS, 2.0) > 0).double(), f"({text(ROWS, 2.0)} > 0).to(float)"
SIGNS, SIGN_TEXT = TRUTH * 2 - 1, f"({TRUTHS} * 2 - 1)"
CLASS_WEIGHT, CLASS_WEIGHTS = wave([5], 1.0).abs() + 0.1, "(abs(wave(5, 1.0)) + 0.1)"
Y, Y_TEXT = wave(ROWS, 2.0), text(ROWS, 2.0)

TABLE = []


def row(program, shape, twin):
    """`program` is an expression of `x`, a wave of that shape; `twin` the same of PyTorch."""
    TABLE.append((program, shape, twin))


# Pools and borders.
row("max_pool3d(x, (2, 3, 2), stride = (1, 2, 2), padding = (1, 1, 0))", VOLUME, lambda x: F.max_pool3d(x, (2, 3, 2), (1, 2, 2), (1, 1, 0)))
row("avg_pool3d(x, 3, stride = 2, padding = 1)", VOLUME, lambda x: F.avg_pool3d(x, 3, 2, 1))
row("adaptive_avg_pool3d(x, (2, 4, 3))", VOLUME, lambda x: F.adaptive_avg_pool3d(x, (2, 4, 3)))
row("adaptive_max_pool1d(x, 3)", LINE, lambda x: F.adaptive_max_pool1d(x, 3))
row("adaptive_max_pool2d(x, (4, 3))", IMAGE, lambda x: F.adaptive_max_pool2d(x, (4, 3)))
row("MaxPool3d(2)(x)", VOLUME, nn.MaxPool3d(2))
row("AvgPool3d((1, 2, 3))(x)", VOLUME, nn.AvgPool3d((1, 2, 3)))
for name in ("ZeroPad1d", "ReflectionPad1d", "ReplicationPad1d", "CircularPad1d"):
    row(f"{name}((2, 1))(x)", LINE, getattr(nn, name)((2, 1)))
for name in ("ZeroPad2d", "ReflectionPad2d", "ReplicationPad2d", "CircularPad2d"):
    row(f"{name}((2, 1, 3, 0))(x)", IMAGE, getattr(nn, name)((2, 1, 3, 0)))
row("ZeroPad3d((1, 2, 0, 1, 2, 0))(x)", VOLUME, nn.ZeroPad3d((1, 2, 0, 1, 2, 0)))
row("ConstantPad1d(2, 0.5)(x)", LINE, nn.ConstantPad1d(2, 0.5))
row("ConstantPad2d((1, 0, 2, 1), 0.5)(x)", IMAGE, nn.ConstantPad2d((1, 0, 2, 1), 0.5))

# Arrangements.
row("PixelUnshuffle(2)(x)", IMAGE, nn.PixelUnshuffle(2))
row("ChannelShuffle(2)(x)", IMAGE, nn.ChannelShuffle(2))
row("Unfold((2, 3), dilation = (2, 1), padding = (1, 0), stride = (2, 1))(x)", IMAGE,
    nn.Unfold((2, 3), dilation=(2, 1), padding=(1, 0), stride=(2, 1)))
row("Fold(output = (5, 6), kernel = (2, 3), padding = (0, 1), stride = (1, 2))(x)", (2, 12, 12),
    nn.Fold((5, 6), (2, 3), padding=(0, 1), stride=(1, 2)))
row("unfold(x, 3, step = 2)", LINE, lambda x: x.unfold(-1, 3, 2))

# Norms.
row("LocalResponseNorm(3, alpha = 0.5, beta = 0.75, k = 2.0)(x)", IMAGE, nn.LocalResponseNorm(3, 0.5, 0.75, 2.0))
row("LayerNorm(8)(x)", IMAGE, lambda x: F.layer_norm(x, [8]))
row("GroupNorm(2, 4)(x)", IMAGE, lambda x: F.group_norm(x, 2))
row("RMSNorm(8, eps = 1e-6)(x)", IMAGE, lambda x: F.rms_norm(x, [8], eps=1e-6))
row("BatchNorm3d(3)(x)", VOLUME, lambda x: x / math.sqrt(1 + 1e-5))

# Activations and other functions of each element.
for program, twin in {
        "hardtanh(x, low = -0.5, high = 0.25)": lambda x: F.hardtanh(x, -0.5, 0.25), "hardsigmoid(x * 4)": lambda x: F.hardsigmoid(x * 4),
        "softsign(x)": F.softsign, "tanhshrink(x)": F.tanhshrink, "hardshrink(x, 0.3)": lambda x: F.hardshrink(x, 0.3),
        "softshrink(x, 0.3)": lambda x: F.softshrink(x, 0.3), "celu(x, alpha = 0.7)": lambda x: F.celu(x, 0.7),
        "threshold(x, 0.1, 0.5)": lambda x: F.threshold(x, 0.1, 0.5), "log2(abs(x) + 0.5)": lambda x: torch.log2(x.abs() + 0.5),
        "log10(abs(x) + 0.5)": lambda x: torch.log10(x.abs() + 0.5), "tan(x)": torch.tan,
        "trunc(x * 3) * x": lambda x: torch.trunc(x * 3) * x,
        f"logaddexp(x, {Y_TEXT})": lambda x: torch.logaddexp(x, Y), f"lerp(x, {Y_TEXT}, 0.3)": lambda x: torch.lerp(x, Y, 0.3)}.items():
    row(program, ROWS, twin)

# Products, distances and statistics.
row(f"outer(x, wave(4, 1.0))", (6,), lambda x: torch.outer(x, wave([4], 1.0)))
row("trace(x)", (5, 5), torch.trace)
row(f"kron(x, {text((2, 3), 1.0)})", (3, 2), lambda x: torch.kron(x, wave([2, 3], 1.0)))
row(f"cross(x, {text((2, 4, 3), 1.0)})", (2, 4, 3), lambda x: torch.linalg.cross(x, wave([2, 4, 3], 1.0)))
for p in (1.0, 2.0, 3.0):
    row(f"cdist(x, {text((2, 3, 5), 1.0)}, p = {p})", (2, 4, 5), lambda x, p=p: torch.cdist(x, wave([2, 3, 5], 1.0), p))
row(f"pairwise_distance(x, {Y_TEXT})", ROWS, lambda x: F.pairwise_distance(x, Y))
row(f"cosine_similarity(x, {Y_TEXT})", ROWS, lambda x: F.cosine_similarity(x, Y, dim=-1))
row("median(x)", ROWS, torch.median)
for q in (0.0, 0.37, 1.0):
    row(f"quantile(x, {q})", ROWS, lambda x, q=q: torch.quantile(x, q))
row("quantiles(x, [0.0, 0.37, 0.5, 1.0])", ROWS,
    lambda x: torch.quantile(x, torch.tensor([0.0, 0.37, 0.5, 1.0], dtype=torch.float64), dim=-1).movedim(0, -1))
row("nanmean(where(x > 0.5, log(full(6, 5, -1.0)), x))", ROWS, lambda x: torch.nanmean(torch.where(x > 0.5, torch.nan, x)))
row("cov(x)", ROWS, torch.cov)
row("corrcoef(x)", ROWS, torch.corrcoef)

# Linear algebra, of batches and of one. `GOOD` has an inverse, `SYMMETRIC` is symmetric with eigenvalues above 0 that differ. What the
# functions below give of several results does not hang on signs that are free.
SQUARE, TALL, WIDE = (2, 4, 4), (2, 5, 3), (2, 3, 5)
GOOD, GOODS = lambda x: x + 3 * torch.eye(4, dtype=torch.float64), "(x + 3 * eye(4))"
SYMMETRIC, SYMMETRICS = lambda x: x @ x.mT + torch.diag(torch.arange(1.0, 5.0)).double(), "symmetric(x)"
RIGHT, RIGHTS = wave((2, 4, 3), 1.0), text((2, 4, 3), 1.0)
HELPERS = """fn symmetric[B](x: float[B, 4, 4]) -> float[B, 4, 4] = x @ x.transpose(1, 2) + eye(4) * (arange(4).to(float) + 1)

fn signed_log[N](x: float[..., N, N]) -> float[...] {
  sign, logarithm = slogdet(x)
  return sign * logarithm
}

fn of_qr[B, N, M](x: float[B, N, M]) -> float[B, N, M] {
  q, r = qr(x)
  return square(q) @ square(r)
}

fn of_svd[B, N, M](x: float[B, N, M]) -> float[B, N, M] {
  u, s, v = svd(x)
  return (square(u) * s.unsqueeze(1)) @ square(v)
}

fn of_eigh[B, N](x: float[B, N, N]) -> float[B, N, N] {
  values, vectors = eigh(x)
  return square(vectors) * values.unsqueeze(1)
}
"""


def of_svd(x):
    u, s, v = torch.linalg.svd(x, full_matrices=False)
    return (u.square() * s.unsqueeze(1)) @ v.square()


def of_qr(x):
    q, r = torch.linalg.qr(x)
    return q.square() @ r.square()


def of_eigh(x):
    values, vectors = torch.linalg.eigh(x)
    return vectors.square() * values.unsqueeze(1)


row(f"inv{GOODS}", SQUARE, lambda x: torch.linalg.inv(GOOD(x)))
row(f"solve({GOODS}, {RIGHTS})", SQUARE, lambda x: torch.linalg.solve(GOOD(x), RIGHT))
row(f"solve(({text((4, 4), 1.0)} + 3 * eye(4)).expand(2, 4, 4), x)", (2, 4, 3), lambda x: torch.linalg.solve(GOOD(wave((4, 4), 1.0)).expand(2, 4, 4), x))
for upper in ("false", "true"):
    row(f"solve_triangular({GOODS}, {RIGHTS}, upper = {upper})", SQUARE,
        lambda x, upper=upper: torch.linalg.solve_triangular((torch.triu if upper == "true" else torch.tril)(GOOD(x)), RIGHT, upper=upper == "true"))
row(f"lstsq(x, {text((2, 5, 2), 1.0)})", TALL, lambda x: torch.linalg.lstsq(x, wave((2, 5, 2), 1.0)).solution)
row(f"det(x)", SQUARE, torch.linalg.det)
row(f"det(x.reshape(4, 4))", (16,), lambda x: torch.linalg.det(x.reshape(4, 4)))
row(f"signed_log{GOODS}", SQUARE, lambda x: torch.linalg.slogdet(GOOD(x))[1])
row(f"cholesky({SYMMETRICS})", SQUARE, lambda x: torch.linalg.cholesky(SYMMETRIC(x)))
row("of_qr(x + eye(5)[:, 0 .. 3])", TALL, lambda x: of_qr(x + torch.eye(5, 3, dtype=torch.float64)))
row("of_svd(x + eye(5)[:, 0 .. 3])", TALL, lambda x: of_svd(x + torch.eye(5, 3, dtype=torch.float64)))
row("of_svd(x + eye(5)[0 .. 3])", WIDE, lambda x: of_svd(x + torch.eye(3, 5, dtype=torch.float64)))
row("svdvals(x + eye(5)[0 .. 3])", WIDE, lambda x: torch.linalg.svdvals(x + torch.eye(3, 5, dtype=torch.float64)))
row(f"of_eigh({SYMMETRICS})", SQUARE, lambda x: of_eigh(SYMMETRIC(x)))
row(f"eigvalsh({SYMMETRICS})", SQUARE, lambda x: torch.linalg.eigvalsh(SYMMETRIC(x)))
row("pinv(x + eye(5)[:, 0 .. 3])", TALL, lambda x: torch.linalg.pinv(x + torch.eye(5, 3, dtype=torch.float64)))
row(f"pinv({SYMMETRICS}, rcond = 0.5)", SQUARE, lambda x: torch.linalg.pinv(SYMMETRIC(x), rtol=0.5))
row("matrix_exp(x)", SQUARE, torch.linalg.matrix_exp)
for kind, order in {"fro": "fro", "nuc": "nuc", "spectral": 2, "columns": 1, "rows": math.inf}.items():
    row(f"matrix_norm(x + eye(5)[:, 0 .. 3], {kind})", TALL, lambda x, order=order: torch.linalg.matrix_norm(x + torch.eye(5, 3, dtype=torch.float64), order))

# Fourier transforms, of an even and of an odd number of elements.
PAIRS = lambda function: lambda x, **more: torch.view_as_real(function(torch.view_as_complex(x), **more))  # noqa: E731
for norm in ("backward", "ortho", "forward"):
    for name in ("fft", "ifft"):
        row(f"{name}(x, norm = {norm})", (2, 7, 2), lambda x, name=name, norm=norm: PAIRS(getattr(torch.fft, name))(x, norm=norm))
    for name in ("fft2", "ifft2"):
        row(f"{name}(x, norm = {norm})", (2, 4, 5, 2), lambda x, name=name, norm=norm: PAIRS(getattr(torch.fft, name))(x, norm=norm))
    for size in (6, 7):
        row(f"rfft(x, norm = {norm})", (3, size), lambda x, norm=norm: torch.view_as_real(torch.fft.rfft(x, norm=norm)))
        row(f"irfft(x, {size}, norm = {norm})", (3, 4, 2),
            lambda x, norm=norm, size=size: torch.fft.irfft(torch.view_as_complex(x), size, norm=norm))
row("rfft(x)", (3, 1), lambda x: torch.view_as_real(torch.fft.rfft(x)))
for size, hop in ((8, 4), (8, 3), (7, 2)):
    row(f"stft(x, {size}, {hop}, window = hann_window({size}))", (2, 21), lambda x, size=size, hop=hop: torch.view_as_real(
        torch.stft(x, size, hop, window=torch.hann_window(size, dtype=torch.float64), return_complex=True)))
row("stft(x, 6, 5)", (2, 21), lambda x: torch.view_as_real(torch.stft(x, 6, 5, window=torch.ones(6, dtype=torch.float64), return_complex=True)))

# Images at places of their own: by the image, and by the places.
PLACES, PLACE_TEXT = wave((2, 3, 5, 2), 1.0) * 1.3, f"({text((2, 3, 5, 2), 1.0)} * 1.3)"
for mode in ("bilinear", "nearest", "bicubic"):
    for outside in ("zeros", "border", "reflection"):
        for align in (False, True):
            row(f"grid_sample(x, {PLACE_TEXT}, {mode}, {outside}, align_corners = {str(align).lower()})", IMAGE,
                lambda x, mode=mode, outside=outside, align=align: F.grid_sample(x, PLACES, mode, outside, align))
row(f"grid_sample({text((2, 2, 4, 4), 2.0)}, x * 0.9)", (2, 3, 5, 2), lambda x: F.grid_sample(wave((2, 2, 4, 4), 2.0), x * 0.9, align_corners=False))
for align in (False, True):
    for height, width in ((3, 4), (1, 5)):
        row(f"affine_grid(x, {height}, {width}, align_corners = {str(align).lower()})", (2, 2, 3),
            lambda x, align=align, size=(2, 1, height, width): F.affine_grid(x, size, align))

# Losses of each sample or element.
for program, twin in {
        f"cross_entropy(x, {LABELS}, reduction = none)": lambda x: F.cross_entropy(x, LABEL, reduction="none"),
        f"cross_entropy(x, {LABELS}, weight = {CLASS_WEIGHTS}, ignore_index = 1, label_smoothing = 0.1, reduction = none)":
            lambda x: F.cross_entropy(x, LABEL, weight=CLASS_WEIGHT, ignore_index=1, label_smoothing=0.1, reduction="none"),
        f"cross_entropy(x.reshape(2, 5, 3), {LABELS}.reshape(2, 3), reduction = none)":
            lambda x: F.cross_entropy(x.reshape(2, 5, 3), LABEL.reshape(2, 3), reduction="none"),
        f"soft_cross_entropy(x, softmax({Y_TEXT}, 1), weight = {CLASS_WEIGHTS}, label_smoothing = 0.1, reduction = none)":
            lambda x: F.cross_entropy(x, F.softmax(Y, 1), weight=CLASS_WEIGHT, label_smoothing=0.1, reduction="none"),
        f"nll(log_softmax(x, 1), {LABELS}, weight = {CLASS_WEIGHTS}, ignore_index = 2, reduction = none)":
            lambda x: F.nll_loss(F.log_softmax(x, 1), LABEL, weight=CLASS_WEIGHT, ignore_index=2, reduction="none"),
        f"bce(sigmoid(x), {TRUTHS}, reduction = none)": lambda x: F.binary_cross_entropy(x.sigmoid(), TRUTH, reduction="none"),
        f"bce_with_logits(x, abs({Y_TEXT}), reduction = none)":
            lambda x: F.binary_cross_entropy_with_logits(x, Y.abs(), reduction="none"),
        f"bce_with_logits(x, abs({Y_TEXT}), pos_weight = {CLASS_WEIGHTS}, reduction = none)":
            lambda x: F.binary_cross_entropy_with_logits(x, Y.abs(), pos_weight=CLASS_WEIGHT, reduction="none"),
        f"bce_with_logits(x, abs({Y_TEXT}), pos_weight = abs({text(ROWS, 3.0)}), reduction = none)":
            lambda x: F.binary_cross_entropy_with_logits(x, Y.abs(), pos_weight=wave(ROWS, 3.0).abs(), reduction="none"),
        f"hinge(x, {SIGN_TEXT}, reduction = none)": lambda x: F.hinge_embedding_loss(x, SIGNS, reduction="none"),
        f"mse(x, {Y_TEXT}, reduction = none)": lambda x: F.mse_loss(x, Y, reduction="none"),
        f"l1(x, {Y_TEXT}, reduction = none)": lambda x: F.l1_loss(x, Y, reduction="none"),
        f"smooth_l1(x, {Y_TEXT}, beta = 0.5, reduction = none)": lambda x: F.smooth_l1_loss(x, Y, beta=0.5, reduction="none"),
        f"huber(x, {Y_TEXT}, delta = 0.5, reduction = none)": lambda x: F.huber_loss(x, Y, delta=0.5, reduction="none"),
        f"kl_div(log_softmax(x, 1), softmax({Y_TEXT}, 1), reduction = none)":
            lambda x: F.kl_div(F.log_softmax(x, 1), F.softmax(Y, 1), reduction="none"),
        f"poisson_nll(x, abs({Y_TEXT}), reduction = none)": lambda x: F.poisson_nll_loss(x, Y.abs(), reduction="none"),
        f"gaussian_nll(x, {Y_TEXT}, abs({text(ROWS, 3.0)}) + 0.1, reduction = none)":
            lambda x: F.gaussian_nll_loss(x, Y, wave(ROWS, 3.0).abs() + 0.1, reduction="none"),
        f"cosine_embedding(x, {Y_TEXT}, sign(wave(6, 1.0)), margin = 0.2, reduction = none)":
            lambda x: F.cosine_embedding_loss(x, Y, wave([6], 1.0).sign(), margin=0.2, reduction="none"),
        f"triplet_margin(x, {Y_TEXT}, {text(ROWS, 3.0)}, reduction = none)":
            lambda x: F.triplet_margin_loss(x, Y, wave(ROWS, 3.0), reduction="none"),
        f"sigmoid_focal(x, {TRUTHS}, alpha = 0.3, gamma = 1.5, reduction = none)":
            lambda x: torchvision.ops.sigmoid_focal_loss(x, TRUTH, 0.3, 1.5)}.items():
    row(program, ROWS, twin)

# Losses that are new, reduced in each way.
CLASSES_OF_ROWS = [[j for j in range(5) if TRUTH[i, j] > 0] for i in range(6)]
LISTED = torch.tensor([one + [-1] * (5 - len(one)) for one in CLASSES_OF_ROWS])
for how in ("mean", "sum", "none"):
    for program, twin in {
            f"multi_margin(x, {LABELS}": lambda x, how: F.multi_margin_loss(x, LABEL, reduction=how),
            f"multi_margin(x, {LABELS}, p = 2, margin = 0.5": lambda x, how: F.multi_margin_loss(x, LABEL, 2, 0.5, reduction=how),
            f"multi_margin(x, {LABELS}, weight = {CLASS_WEIGHTS}":
                lambda x, how: F.multi_margin_loss(x, LABEL, weight=CLASS_WEIGHT, reduction=how),
            f"multilabel_margin(x, {TRUTHS}": lambda x, how: F.multilabel_margin_loss(x, LISTED, reduction=how),
            f"soft_margin(x, {SIGN_TEXT}": lambda x, how: F.soft_margin_loss(x, SIGNS, reduction=how),
            f"multilabel_soft_margin(x, {TRUTHS}, weight = {CLASS_WEIGHTS}":
                lambda x, how: F.multilabel_soft_margin_loss(x, TRUTH, CLASS_WEIGHT, reduction=how),
            f"margin_ranking(x, {Y_TEXT}, {SIGN_TEXT}, margin = 0.3":
                lambda x, how: F.margin_ranking_loss(x, Y, SIGNS, margin=0.3, reduction=how),
            f"poisson_nll(x, abs({Y_TEXT}) * 3, full = true":
                lambda x, how: F.poisson_nll_loss(x, Y.abs() * 3, full=True, reduction=how),
            f"poisson_nll(abs(x), abs({Y_TEXT}) * 3, log_input = false, full = true, eps = 0.1":
                lambda x, how: F.poisson_nll_loss(x.abs(), Y.abs() * 3, False, True, eps=0.1, reduction=how),
            f"gaussian_nll(x, {Y_TEXT}, abs({text(ROWS, 3.0)}), eps = 0.3, full = true":
                lambda x, how: F.gaussian_nll_loss(x, Y, wave(ROWS, 3.0).abs(), True, 0.3, how),
            f"triplet_margin(x, {Y_TEXT}, {text(ROWS, 3.0)}, p = 1.0, eps = 0.01":
                lambda x, how: F.triplet_margin_loss(x, Y, wave(ROWS, 3.0), p=1.0, eps=0.01, reduction=how),
            f"triplet_margin(x, {Y_TEXT}, {text(ROWS, 3.0)}, margin = 0.5, p = 3.0, swap = true":
                lambda x, how: F.triplet_margin_loss(x, Y, wave(ROWS, 3.0), 0.5, 3.0, swap=True, reduction=how)}.items():
        row(f"{program}, reduction = {how})", ROWS, lambda x, twin=twin, how=how: twin(x, how))
    # Behind `log_softmax`, as PyTorch's gradient has it. The last target does not fit into its moments.
    row(f"ctc(log_softmax(x, 2), stack([1, 2, 3, 3, 4, 4]).reshape(3, 2), [5, 4, 2], [2, 1, 2], zero_infinity = true, reduction = {how})",
        [5, 3, 6], lambda x, how=how: F.ctc_loss(F.log_softmax(x, 2), torch.tensor([[1, 2], [3, 3], [4, 4]]), torch.tensor([5, 4, 2]),
                                                 torch.tensor([2, 1, 2]), zero_infinity=True, reduction=how))


# Angles, exponentials and what else is of each element.
for program, twin in {
        "asin(x * 0.9)": lambda x: torch.asin(x * 0.9), "acos(x * 0.9)": lambda x: torch.acos(x * 0.9), "atan(x * 3)": lambda x: torch.atan(x * 3),
        "atan(x)": torch.atan,
        f"atan2(x, {Y_TEXT})": lambda x: torch.atan2(x, Y), "sinh(x * 2)": lambda x: torch.sinh(x * 2), "cosh(x * 2)": lambda x: torch.cosh(x * 2),
        "expm1(x)": torch.expm1,
        "nan_to_num(where(x > 0.5, log(full(6, 5, -1.0)), x), nan = 0.3)": lambda x: torch.nan_to_num(torch.where(x > 0.5, torch.nan, x), nan=0.3),
        "nan_to_num(where(x > 0.5, -log(zeros(6, 5)), x), posinf = 2.0)":
            lambda x: torch.nan_to_num(torch.where(x > 0.5, torch.inf, x), posinf=2.0),
        "where(isinf(1 / floor(abs(x) * 2)), x, 0.0)": lambda x: torch.where(torch.isinf(1 / torch.floor(x.abs() * 2)), x, 0.0)}.items():
    row(program, ROWS, twin)

# Sums, differences, counts and diagonals.
row("nansum(where(x > 0.5, log(full(6, 5, -1.0)), x))", ROWS, lambda x: torch.nansum(torch.where(x > 0.5, torch.nan, x)))
row("diff(x)", ROWS, torch.diff)
row("histc(x, 7, -0.8, 0.9) * x.sum()", ROWS, lambda x: torch.histc(x, 7, -0.8, 0.9) * x.sum())
row("diag(x)", (4,), torch.diag)
row("diag_embed(x)", (2, 3, 4), torch.diag_embed)

# Lines and volumes of other sizes, and their pools and borders.
for align in (False, True):
    row(f"interpolate1d(x, 11, linear, align_corners = {str(align).lower()})", LINE,
        lambda x, align=align: F.interpolate(x, 11, mode="linear", align_corners=align))
    row(f"interpolate3d(x, 4, 9, 10, trilinear, align_corners = {str(align).lower()})", VOLUME,
        lambda x, align=align: F.interpolate(x, (4, 9, 10), mode="trilinear", align_corners=align))
    row(f"Upsample1d(2, mode = linear, align_corners = {str(align).lower()})(x)", LINE, nn.Upsample(scale_factor=2, mode="linear", align_corners=align))
    row(f"Upsample3d(2, mode = trilinear, align_corners = {str(align).lower()})(x)", VOLUME,
        nn.Upsample(scale_factor=2, mode="trilinear", align_corners=align))
    row(f"Upsample(2, mode = bilinear, align_corners = {str(align).lower()})(x)", IMAGE, nn.Upsample(scale_factor=2, mode="bilinear", align_corners=align))
row("Upsample(3)(x)", IMAGE, nn.Upsample(scale_factor=3))
row("interpolate1d(x, 4)", LINE, lambda x: F.interpolate(x, 4))
row("interpolate3d(x, 4, 9, 5)", VOLUME, lambda x: F.interpolate(x, (4, 9, 5)))
row("PixelShuffle(2)(x)", IMAGE, nn.PixelShuffle(2))
row("adaptive_max_pool3d(x, (2, 4, 3))", VOLUME, lambda x: F.adaptive_max_pool3d(x, (2, 4, 3)))
row("AdaptiveMaxPool3d(2)(x)", VOLUME, nn.AdaptiveMaxPool3d(2))
row("MaxPool1d(3, stride = 2, padding = 1)(x)", LINE, nn.MaxPool1d(3, 2, 1))
row("AvgPool1d(3, stride = 2, padding = 1)(x)", LINE, nn.AvgPool1d(3, 2, 1))
row("AvgPool1d(3, stride = 2, padding = 1, count_include_pad = false)(x)", LINE, nn.AvgPool1d(3, 2, 1, count_include_pad=False))
row("AvgPool2d((3, 2), stride = (1, 2), padding = (1, 0), count_include_pad = false)(x)", IMAGE,
    nn.AvgPool2d((3, 2), (1, 2), (1, 0), count_include_pad=False))
row("AvgPool3d(3, stride = 2, padding = 1, count_include_pad = false)(x)", VOLUME, nn.AvgPool3d(3, 2, 1, count_include_pad=False))
row("AdaptiveAvgPool1d(3)(x)", LINE, nn.AdaptiveAvgPool1d(3))
row("ConstantPad3d((1, 2, 0, 1, 2, 0), 0.5)(x)", VOLUME, nn.ConstantPad3d((1, 2, 0, 1, 2, 0), 0.5))
for name in ("ReflectionPad3d", "ReplicationPad3d", "CircularPad3d"):
    row(f"{name}((2, 1, 3, 0, 1, 2))(x)", VOLUME, getattr(nn, name)((2, 1, 3, 0, 1, 2)))

# Norms and slopes with the weights that they begin with.
row("InstanceNorm(4)(x)", IMAGE, lambda x: F.instance_norm(x))
row("InstanceNorm(3, eps = 0.1, affine = true)(x)", LINE, lambda x: F.instance_norm(x, eps=0.1))
row("PlainBatchNorm(4, eps = 0.1)(x)", IMAGE, lambda x: F.batch_norm(x, torch.zeros(4).double(), torch.ones(4).double(), eps=0.1))
row("PReLU(channels = 4, start = 0.3)(x)", IMAGE, lambda x: F.prelu(x, torch.full((4,), 0.3, dtype=torch.float64)))

# Sounds. What torchaudio says of them, as formulas.
row("hamming_window(7) * x", (7,), lambda x: torch.hamming_window(7, dtype=torch.float64) * x)
for size, hop in ((8, 4), (7, 3)):
    row(f"istft(x, {size}, {hop}, window = hamming_window({size}))", (2, size // 2 + 1, 6, 2), lambda x, size=size, hop=hop: torch.istft(
        torch.view_as_complex(x), size, hop, window=torch.hamming_window(size, dtype=torch.float64)))


def mel_filters(rate, size, bins, low, high):
    def mel(hertz):
        return 2595 * math.log10(1 + hertz / 700)
    edges = 700 * (10 ** (torch.linspace(mel(low), mel(high), bins + 2, dtype=torch.float64) / 2595) - 1)
    slopes = edges - torch.linspace(0, rate // 2, size // 2 + 1, dtype=torch.float64).unsqueeze(1)
    wide = edges.diff()
    return torch.minimum(-slopes[:, :-2] / wide[:-1], slopes[:, 2:] / wide[1:]).clamp(min=0)


def mel_spectrogram(x, rate, size, hop, bins, low, high, power):
    spectrum = torch.stft(x, size, hop, window=torch.hann_window(size, dtype=torch.float64), return_complex=True)
    return mel_filters(rate, size, bins, low, high).T @ spectrum.abs() ** power


def mfcc(x, rate, count, size, hop, bins):
    decibels = 10 * mel_spectrogram(x, rate, size, hop, bins, 0.0, rate // 2, 2.0).clamp(min=1e-10).log10()
    loud = torch.maximum(decibels, decibels.amax((1, 2), keepdim=True) - 80)
    place, k = torch.arange(bins, dtype=torch.float64), torch.arange(count, dtype=torch.float64).unsqueeze(1)
    waves = torch.cos(math.pi / bins * (place + 0.5) * k) * math.sqrt(2 / bins)
    waves[0] /= math.sqrt(2)
    return waves @ loud


def resample(x, rate, to, width=6, rolloff=0.99):
    given, wanted = rate // math.gcd(rate, to), to // math.gcd(rate, to)
    base = min(given, wanted) * rolloff
    reach = math.ceil(width * given / base)
    at = torch.arange(-reach, reach + given, dtype=torch.float64) / given
    t = ((at - torch.arange(wanted, dtype=torch.float64).unsqueeze(1) / wanted) * base).clamp(-width, width)
    kernel = torch.sinc(t) * torch.cos(t * math.pi / width / 2) ** 2 * base / given
    parts = F.conv1d(F.pad(x, (reach, reach + given)).unsqueeze(1), kernel.unsqueeze(1), stride=given)
    return parts.transpose(1, 2).reshape(len(x), -1)[:, :math.ceil(to * x.shape[1] / rate)]


row("x * mel_filters(100, 16, 5, low = 3.0, high = 40.0)", (9, 5), lambda x: x * mel_filters(100, 16, 5, 3.0, 40.0))
row("mel_spectrogram(x, 100, 16, 8, 5)", (2, 60), lambda x: mel_spectrogram(x, 100, 16, 8, 5, 0.0, 50, 2.0))
row("mel_spectrogram(x, 100, 16, 7, 4, low = 2.0, high = 45.0, power = 1.0)", (2, 60), lambda x: mel_spectrogram(x, 100, 16, 7, 4, 2.0, 45.0, 1.0))
row("mfcc(x, 100, count = 4, size = 16, hop = 8, bins = 5)", (2, 60), lambda x: mfcc(x, 100, 4, 16, 8, 5))
for rate, to in ((3, 2), (2, 3), (5, 5), (44100, 16000)):
    row(f"resample(x, {rate}, {to})", (2, 31), lambda x, rate=rate, to=to: resample(x, rate, to))
row("resample(x, 4, 3, width = 3, rolloff = 0.8)", (2, 31), lambda x: resample(x, 4, 3, 3, 0.8))


# Overlaps, of which PyTorch has none: their papers' formulas, sample by sample.
def overlaps(x, how, of):
    each = torch.stack([1 - of((p * y).sum(), (p * (1 - y)).sum(), ((1 - p) * y).sum()) for p, y in zip(x.sigmoid(), Y.abs())])
    return {"mean": each.mean(), "sum": each.sum(), "none": each}[how]


for how in ("mean", "sum", "none"):
    row(f"tversky(sigmoid(x), abs({Y_TEXT}), reduction = {how})", ROWS,
        lambda x, how=how: overlaps(x, how, lambda hit, wrong, missed: (hit + 1) / (hit + 0.5 * wrong + 0.5 * missed + 1)))
    row(f"tversky(sigmoid(x), abs({Y_TEXT}), alpha = 0.3, beta = 0.9, smooth = 0.1, reduction = {how})", ROWS,
        lambda x, how=how: overlaps(x, how, lambda hit, wrong, missed: (hit + 0.1) / (hit + 0.3 * wrong + 0.9 * missed + 0.1)))
    row(f"jaccard(sigmoid(x), abs({Y_TEXT}), reduction = {how})", ROWS,
        lambda x, how=how: overlaps(x, how, lambda hit, wrong, missed: (hit + 1) / (hit + wrong + missed + 1)))
    row(f"jaccard(sigmoid(x), abs({Y_TEXT}), smooth = 0.1, reduction = {how})", ROWS,
        lambda x, how=how: overlaps(x, how, lambda hit, wrong, missed: (hit + 0.1) / (hit + wrong + missed + 0.1)))

# Windows that reach beyond the end, whose elements lie apart, or whose border does not count.
for call, like in (("max_pool1d(x, 2, ceil_mode = true)", lambda x: F.max_pool1d(x, 2, ceil_mode=True)),
                   ("max_pool1d(x, 3, stride = 2, padding = 1, dilation = 2)", lambda x: F.max_pool1d(x, 3, 2, 1, 2)),
                   ("avg_pool1d(x, 3, stride = 2, padding = 1, ceil_mode = true)", lambda x: F.avg_pool1d(x, 3, 2, 1, True)),
                   ("avg_pool1d(x, 3, stride = 3, padding = 1, count_include_pad = false, ceil_mode = true)", lambda x: F.avg_pool1d(x, 3, 3, 1, True, False)),
                   ("MaxPool1d(3, stride = 2, dilation = 2, ceil_mode = true)(x)", nn.MaxPool1d(3, 2, 0, 2, ceil_mode=True))):
    row(call, LINE, like)
for call, like in (("max_pool2d(x, (2, 3), stride = 2, padding = 1, dilation = (2, 1))", lambda x: F.max_pool2d(x, (2, 3), 2, 1, (2, 1))),
                   ("max_pool2d(x, 2, stride = 3, padding = 1, ceil_mode = true)", lambda x: F.max_pool2d(x, 2, 3, 1, ceil_mode=True)),
                   ("avg_pool2d(x, 2, stride = (3, 2), padding = 1, ceil_mode = true)", lambda x: F.avg_pool2d(x, 2, (3, 2), 1, True)),
                   ("avg_pool2d(x, (3, 2), stride = 2, padding = (1, 0), count_include_pad = false)", lambda x: F.avg_pool2d(x, (3, 2), 2, (1, 0), False, False)),
                   ("MaxPool2d(2, dilation = 2, ceil_mode = true)(x)", nn.MaxPool2d(2, dilation=2, ceil_mode=True)),
                   ("AvgPool2d(3, stride = 2, count_include_pad = false, ceil_mode = true)(x)", nn.AvgPool2d(3, 2, 0, True, False))):
    row(call, IMAGE, like)
for call, like in (("max_pool3d(x, 2, dilation = (1, 2, 1), ceil_mode = true)", lambda x: F.max_pool3d(x, 2, dilation=(1, 2, 1), ceil_mode=True)),
                   ("avg_pool3d(x, 2, stride = 3, padding = 1, count_include_pad = false, ceil_mode = true)", lambda x: F.avg_pool3d(x, 2, 3, 1, True, False)),
                   ("MaxPool3d(2, dilation = 2)(x)", nn.MaxPool3d(2, dilation=2)),
                   ("AvgPool3d((2, 3, 2), stride = 2, ceil_mode = true)(x)", nn.AvgPool3d((2, 3, 2), 2, ceil_mode=True))):
    row(call, VOLUME, like)


# Initial values, which are drawn: their spread, and where they end. Torch's trunc_normal_ ends at numbers, not at deviations.
INITS = []
for dims in ((300, 200), (64, 32, 3, 3)):
    INITS += [("xavier_uniform", dims, "gain = 1.5", lambda x: nn.init.xavier_uniform_(x, 1.5)), ("xavier_normal", dims, "", nn.init.xavier_normal_),
              ("kaiming_uniform", dims, "", nn.init.kaiming_uniform_), ("kaiming_uniform", dims, "gain = 1.0", lambda x: nn.init.kaiming_uniform_(x, 1.0)),
              ("kaiming_normal", dims, "", nn.init.kaiming_normal_),
              ("trunc_normal", dims, "mean = 0.5, std = 0.2", lambda x: nn.init.trunc_normal_(x, 0.5, 0.2, 0.1, 0.9)),
              ("orthogonal", dims, "gain = 1.5", lambda x: nn.init.orthogonal_(x, 1.5))]


def init_test(name, dims, options, twin):
    x = twin(torch.empty(dims, dtype=torch.float64))
    spread = x.std().item()
    given = ", ".join([*map(str, dims), *([options] if options else [])])
    lines = [f"x = {name}({given})", f"assert close(std(x) / {spread:.7g}, 1, 0.02)", f"assert close((mean(x) - {x.mean().item():.7g}) / {spread:.7g}, 0, 0.03)"]
    if name.endswith("uniform") or name == "trunc_normal":
        lines.append(f"assert close(max(x) / {x.max().item():.7g}, 1, 0.02) and close(min(x) / {x.min().item():.7g}, 1, 0.02)")
    if name == "orthogonal":
        many = min(dims[0], math.prod(dims[1:]))
        lines.append(f"assert close(svdvals(x.reshape({dims[0]}, {math.prod(dims[1:])})), full({many}, {torch.linalg.svdvals(x.flatten(1))[0].item():.7g}), 1e-4)")
    return "\n".join([f'test "{name} {given}" {{', *(f"  {line}" for line in lines), "}\n"])


def numbers(values, shape):
    flat = ", ".join(f"{v:.7g}" if "." in f"{v:.7g}" or "e" in f"{v:.7g}" else f"{v:.7g}.0" for v in values.flatten().tolist())
    return f"stack([{flat}]).reshape({', '.join(map(str, shape))})"


def main():
    print(f"""ltr 1

# Written by record_library.py: what the library says in Ltr, against PyTorch {torch.__version__}.

import std.audio.{{mel_filters, mel_spectrogram, mfcc, resample}}
import std.init.{{xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal, trunc_normal, orthogonal}}

fn wave(n: int, shift: float) -> float[n] = sin(arange(n).to(f64) * 0.7 + shift).to(float)

{HELPERS}""")
    for index, (program, shape, twin) in enumerate(TABLE):
        x = wave(shape).requires_grad_(True)
        y = twin(x)
        value = (y * wave(y.shape, 2.0)).sum() if y.dim() else y
        value.backward()
        near = TOLERANCE * max(1.0, abs(value.item()), x.grad.abs().max().item())
        weighed = f"sum(y * {text(tuple(y.shape), 2.0)})" if y.dim() else "y"
        title = program.split("(")[0]
        print(f"""test "{index}: {title}" {{
  x = {text(shape)}
  y = {program}
  value = {weighed}
  assert close(value, {value.item():.9g}, {near:.3g})
  assert close(grad(value, x), {numbers(x.grad, shape)}, {near:.3g})
}}
""")
    torch.manual_seed(0)
    for one in INITS:
        print(init_test(*one))


if __name__ == "__main__":
    main()
