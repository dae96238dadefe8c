"""Layers with weights for models.py --layers: each in a small net, beside the same net of PyTorch. Nothing is left out by chance.

`ROWS` are (name, fields of the program, the twin's maker), as models.py has them.
"""
import torch
from torch import nn

WAVE = "sin(arange({count}).to(f64) * 0.01 + 1.0 * s.i).to(float)"
IDS = "((arange({count}) * 7 + s.i * 3) % 13)"
ROWS = []


class Net(nn.Module):
    def __init__(self, parts, forward):
        super().__init__()
        self.run = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.run(self, x)


def row(name, dims, members, body, parts, forward, kind="float"):
    """The block with these members and this body of `forward`, which takes `x` and gives four logits; `parts()` and
    `forward(net, x)` are the same of PyTorch."""
    sizes = ", ".join(map(str, dims))
    lines = ["block Net() {", *(f"  {line}" for line in members), "",
             f"  fn forward[B](x: {kind}[B, {sizes}]) -> float[B, 4] {{", *(f"    {line}" for line in body), "  }", "}"]
    fields = {"dims": dims, "kind": kind, "x": WAVE if kind == "float" else IDS, "imports": "", "logits": "net(x)", "net": "Net()",
              "blocks": "\n".join(lines)}
    ROWS.append((name, fields, lambda: Net(parts(), forward)))


def chain(name, dims, layers, parts):
    """The same of a chain."""
    fields = {"dims": dims, "kind": "float", "x": WAVE, "imports": "", "logits": "net(x)", "net": f"[{layers}]", "blocks": ""}
    ROWS.append((name, fields, lambda: nn.Sequential(*parts())))


def later(count):
    """True at places that nobody looks at: the last one of five, of all rows."""
    return (torch.arange(5) >= 4).unsqueeze(0).expand(count, 5)


LATER = "padding = (arange(5) >= 4).unsqueeze(0).expand(B, 5)"


# Attention.
def attended(net, x):
    hidden = torch.ones(5, 5).triu(1).bool()
    added = (torch.arange(25).reshape(5, 5) * 0.1).to(x.dtype)
    y = net.attn(x, x, x, attn_mask=hidden, key_padding_mask=later(len(x)))[0]
    # A mask of numbers and one of bools go together as numbers.
    far = torch.zeros_like(x[..., 0]).masked_fill(later(len(x)), -torch.inf)
    z = net.attn(y, y, y, attn_mask=added, key_padding_mask=far)[0]
    w = net.attn(z, x[:, :3], x[:, :3], attn_mask=~torch.ones(5, 3).tril().bool())[0]
    return net.head((w + net.attn(x, x, x)[0]).mean(1))


row("MultiheadAttention", [5, 6], ["attn = MultiheadAttention(6, 2)", "head = Linear(6, 4)"],
    [LATER, "y = attn(x, causal = true, key_padding_mask = padding)",
     "z = attn(y, mask = arange(25).to(float).reshape(5, 5) * 0.1, key_padding_mask = padding)",
     "w = attn.cross(z, x[:, .. 3], mask = ones(5, 3).tril() > 0)", "return head((w + attn(x)).mean(1))"],
    lambda: {"attn": nn.MultiheadAttention(6, 2, batch_first=True), "head": nn.Linear(6, 4)}, attended)
row("CrossAttention", [5, 6], ["attn = CrossAttention(6, 2, kdim = 4, vdim = 5)", "head = Linear(6, 4)"],
    [LATER, "return head(attn(x, x[:, :, .. 4], x[:, :, 1 ..], key_padding_mask = padding).mean(1))"],
    lambda: {"attn": nn.MultiheadAttention(6, 2, kdim=4, vdim=5, batch_first=True), "head": nn.Linear(6, 4)},
    lambda net, x: net.head(net.attn(x, x[..., :4], x[..., 1:], key_padding_mask=later(len(x)))[0].mean(1)))

# Transformers: layers and stacks.
HEAD = "head = Linear(6, 4)"
SMALL = {"d_model": 6, "nhead": 2, "dim_feedforward": 8, "dropout": 0.0, "batch_first": True}
CAUSAL = torch.ones(5, 5).triu(1).bool()


def encoded(net, x):
    return net.head(net.net(x, CAUSAL, later(len(x))).mean(1))


def decoded(net, x):
    return net.head(net.net(x, x[:, :3] * 2, CAUSAL, tgt_key_padding_mask=later(len(x))).mean(1))


ENCODED = [LATER, "return head(net(x, causal = true, key_padding_mask = padding).mean(1))"]
DECODED = [LATER, "return head(net(x, x[:, .. 3] * 2, key_padding_mask = padding).mean(1))"]
for theirs, ours in {"": "", ", gelu, first": ", activation = gelu, norm_first = true",
                     ", without biases": ", bias = false, layer_norm_eps = 0.1"}.items():
    given = {"activation": "gelu", "norm_first": True} if "first" in theirs else {"bias": False, "layer_norm_eps": 0.1} if theirs else {}
    row(f"TransformerEncoderLayer{theirs}", [5, 6], [f"net = TransformerEncoderLayer(6, 2, 8, 0.0{ours})", HEAD], ENCODED,
        lambda given=given: {"net": nn.TransformerEncoderLayer(**SMALL, **given), "head": nn.Linear(6, 4)}, encoded)
    row(f"TransformerDecoderLayer{theirs}", [5, 6], [f"net = TransformerDecoderLayer(6, 2, 8, 0.0{ours})", HEAD], DECODED,
        lambda given=given: {"net": nn.TransformerDecoderLayer(**SMALL, **given), "head": nn.Linear(6, 4)}, decoded)
for norm in (False, True):
    last = (lambda: nn.LayerNorm(6)) if norm else (lambda: None)
    ours = f"(6, 2, layers = 2, inner = 8, dropout = 0.0, norm = {str(norm).lower()})"
    row(f"TransformerEncoder{ours}", [5, 6], [f"net = TransformerEncoder{ours}", HEAD], ENCODED, lambda last=last: {
        "net": nn.TransformerEncoder(nn.TransformerEncoderLayer(**SMALL), 2, last()), "head": nn.Linear(6, 4)}, encoded)
    row(f"TransformerDecoder{ours}", [5, 6], [f"net = TransformerDecoder{ours}", HEAD], DECODED, lambda last=last: {
        "net": nn.TransformerDecoder(nn.TransformerDecoderLayer(**SMALL), 2, last()), "head": nn.Linear(6, 4)}, decoded)
row("Transformer", [5, 6], ["net = Transformer(6, 2, encoder_layers = 1, decoder_layers = 2, inner = 8, dropout = 0.0)", HEAD],
    [LATER, "return head(net(x, x[:, .. 3] * 2, key_padding_mask = padding).mean(1))"],
    lambda: {"net": nn.Transformer(num_encoder_layers=1, num_decoder_layers=2, **SMALL), "head": nn.Linear(6, 4)},
    lambda net, x: net.head(net.net(x, x[:, :3] * 2, tgt_mask=CAUSAL[:3, :3], src_key_padding_mask=later(len(x)),
                                    memory_key_padding_mask=later(len(x))).mean(1)))

class Before(nn.Conv1d):
    """With two zeros in front and none behind."""

    def forward(self, x):
        return super().forward(nn.functional.pad(x, (2, 0)))


# Convolutions of lines and volumes.
chain("Conv1d", [3, 13],
      "Conv1d(3, 4, 3, stride = 2, padding = 2, dilation = 2), relu, Conv1d(4, 4, 3, padding = (2, 0), groups = 2), tanh, "
      "ConvTranspose1d(4, 5, 3, stride = 2, padding = 1, output_padding = 1, bias = false), InstanceNorm(5, affine = true), PReLU(5), "
      "Conv1d(5, 3, 2, padding_mode = circular, padding = 1), flatten(1), Linear(45, 4)",
      lambda: [nn.Conv1d(3, 4, 3, 2, 2, 2), nn.ReLU(), Before(4, 4, 3, groups=2), nn.Tanh(),
               nn.ConvTranspose1d(4, 5, 3, 2, 1, 1, bias=False), nn.InstanceNorm1d(5, affine=True), nn.PReLU(5),
               nn.Conv1d(5, 3, 2, padding=1, padding_mode="circular"), nn.Flatten(), nn.Linear(45, 4)])
chain("Conv3d", [2, 5, 6, 4],
      "Conv3d(2, 3, (2, 3, 2), stride = (1, 2, 1), padding = (1, 0, 1)), PReLU(), PlainBatchNorm(3), "
      "ConvTranspose3d(3, 2, (1, 2, 3), stride = (1, 2, 1), padding = (0, 1, 1)), flatten(1), Linear(120, 4)",
      lambda: [nn.Conv3d(2, 3, (2, 3, 2), (1, 2, 1), (1, 0, 1)), nn.PReLU(), nn.BatchNorm3d(3, affine=False),
               nn.ConvTranspose3d(3, 2, (1, 2, 3), (1, 2, 1), (0, 1, 1)), nn.Flatten(), nn.Linear(120, 4)])


# Others.
row("Bilinear", [2, 3], ["bi = Bilinear(3, 3, 4)"], ["return bi(x[:, 0], x[:, 1])"], lambda: {"bi": nn.Bilinear(3, 3, 4)},
    lambda net, x: net.bi(x[:, 0], x[:, 1]))
row("EmbeddingBag", [6], ["sums = EmbeddingBag(13, 5, mode = sum)", "means = EmbeddingBag(13, 5, padding_idx = 3)",
                          "largest = EmbeddingBag(13, 5, mode = max, padding_idx = -1)", "head = Linear(5, 4)"],
    ["by = arange(6).to(float).unsqueeze(0).expand(B, 6) * 0.2", "return head(sums(x, by) + means(x) + largest(x))"],
    lambda: {"sums": nn.EmbeddingBag(13, 5, mode="sum"), "means": nn.EmbeddingBag(13, 5, padding_idx=3),
             "largest": nn.EmbeddingBag(13, 5, mode="max", padding_idx=-1), "head": nn.Linear(5, 4)},
    lambda net, x: net.head(net.sums(x, per_sample_weights=(torch.arange(6).expand(len(x), 6) * 0.2).to(net.head.weight.dtype)) + net.means(x) +
                            net.largest(x)), kind="i64")


def cells(net, x):
    nothing = torch.zeros(len(x), 5, dtype=x.dtype)
    h, c = net.lstm(x[:, 0], (nothing, nothing + 1))
    y, d = net.lstm(x[:, 1], (h, c))
    return net.head(y + d + net.gru(x[:, 0], y) + net.rnn(x[:, 1], h))


row("cells", [2, 3], ["lstm = LSTMCell(3, 5)", "gru = GRUCell(3, 5)", "rnn = RNNCell(3, 5, nonlinearity = relu)", "head = Linear(5, 4)"],
    ["h, c = lstm(x[:, 0], zeros(B, 5), ones(B, 5))", "y, d = lstm(x[:, 1], h, c)", "return head(y + d + gru(x[:, 0], y) + rnn(x[:, 1], h))"],
    lambda: {"lstm": nn.LSTMCell(3, 5), "gru": nn.GRUCell(3, 5), "rnn": nn.RNNCell(3, 5, nonlinearity="relu"), "head": nn.Linear(5, 4)},
    cells)
