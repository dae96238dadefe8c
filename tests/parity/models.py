#!/usr/bin/env python3
"""The models of the library against torchvision's and Hugging Face's, and its layers against PyTorch's: a program loads the
weights of the twin, so names and shapes of all weights and buffers are equal; the loss of a batch, the gradients of all weights
(as one step of SGD shows them), the buffers behind the step and the loss in evaluation are those of the twin. Skipped where
PyTorch, torchvision or transformers is not installed.

    models.py [--layers] [NAME…]        the models, or the layers of support/layers.py

LTRC and LTR_SOURCE say which compiler and sources, if not those of this tree.
"""
import copy
import csv
import pathlib
import sys

try:
    import safetensors.torch
    import torch
    import torchvision
    import transformers
except ImportError:
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run/support"))
from harness import build, check, finish, fit, newest, scratch  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import layers  # noqa: E402

# The largest error of the losses, of a gradient as part of the largest of its tensor, and of a buffer. Where PyTorch's own
# rounding makes more of it, as batch norms over few places do, it is three times what f32 and f64 differ by there. One run may be near
# by luck: where that does not do, it is the largest of several, of weights whose last bits are others. Such gradients are compared in f64 as
# well. Those that are nothing but rounding, such as those of a bias before a batch norm, are measured by a hundredth of the model's
# largest.
# A loss is one number, which may be near by luck: PyTorch's own rounding of it is the larger one of those with one and with two
# threads, which are 3e-7 and 1.3e-5 for resnet50.
# A loss behind convolutions by tiles has their tolerance (docs/native.md); how near it comes hangs on the machine.
LOSS, LATER_LOSS, GRADIENT, BUFFER = 3e-5, 1e-4, 1e-3, 1e-5
SHAKEN, EXACT = 4, 1e-10
LEARNING_RATE = 0.1

PROGRAM = """ltr 1

{imports}

data Waves() {{
  batch[B] {{ x: {kind}[B, {dims}], label: i64[B] }}

  fn wave(s: {{i: int}}) -> {{x: {kind}[{dims}], label: i64}} =
    (x = {x}.reshape({dims}), label = stack([s.i % 4])[0])

  train = synthetic(4, wave) |> collate(4)
  val   = synthetic(4, wave) |> collate(4)
}}

{blocks}

model Wave() {{
  net = {net} from "twin.safetensors"
  optimizer opt = SGD(net.weights, lr = 0.1)

  step train[B](x: {kind}[B, {dims}], label: i64[B]) {{
    loss = cross_entropy({logits}, label)
    minimize loss
    log loss
  }}

  step val[B](x: {kind}[B, {dims}], label: i64[B]) {{
    log loss = cross_entropy({logits}, label)
  }}
}}

experiment waves {{
  data    = Waves()
  model   = Wave()
  trainer {{ epochs = 1, sanity_val = 0 }}
  loggers {{ Csv() }}
}}
"""
WAVE = "sin(arange({count}).to(f64) * 0.01 + 1.0 * s.i).to(float)"
IDS = "((arange({count}) * 7 + s.i * 3) % 13)"
IMAGE = {"dims": [3, 40, 36], "kind": "float", "x": WAVE, "blocks": "", "logits": "net(x)"}
SERIES = {"dims": [5, 3], "kind": "float", "x": WAVE, "imports": "", "logits": "net(x)"}
TEXT = {"dims": [6], "kind": "i64", "x": IDS, "blocks": ""}
STACK = """block Stack() {{
  rnn = {0}
  head = Linear(8, 4)

  fn forward[B](x: float[B, 5, 3]) -> float[B, 4] {{
    y, state = rnn(x)
    return head(y[:, -1])
  }}
}}"""


AXES = """[Conv2d(3, 4, kernel = (3, 5), stride = (1, 2), padding = (1, 2), dilation = (2, 1)), relu,
    MaxPool2d((2, 3), stride = (1, 2), padding = (1, 0)),
    Conv2d(4, 6, kernel = (4, 3), padding = "same", dilation = (1, 2)), tanh,
    ConvTranspose2d(6, 5, kernel = (2, 3), stride = (1, 2), padding = (0, 1), output_padding = (0, 1)),
    AvgPool2d((2, 3), padding = (1, 0)), AdaptiveAvgPool2d((2, 3)), flatten(1), Linear(30, 4)]"""


def axes():
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 4, (3, 5), stride=(1, 2), padding=(1, 2), dilation=(2, 1)), nn.ReLU(),
        nn.MaxPool2d((2, 3), stride=(1, 2), padding=(1, 0)),
        nn.Conv2d(4, 6, (4, 3), padding="same", dilation=(1, 2)), nn.Tanh(),
        nn.ConvTranspose2d(6, 5, (2, 3), stride=(1, 2), padding=(0, 1), output_padding=(0, 1)),
        nn.AvgPool2d((2, 3), padding=(1, 0)), nn.AdaptiveAvgPool2d((2, 3)), nn.Flatten(1), nn.Linear(30, 4))


class Stack(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn = kind(3, 4, num_layers=2, bidirectional=True, batch_first=True)
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


def images(name, **options):
    """A row of torchvision's model `name` with four classes and nothing left out by chance."""
    def make():
        twin = getattr(torchvision.models, name)(num_classes=4, **options)
        for module in twin.modules():
            if isinstance(module, (torch.nn.Dropout, torchvision.ops.StochasticDepth)):
                module.p = 0.0
        if name.startswith("vgg"):  # the same classifier with fewer weights
            twin.classifier[0] = torch.nn.Linear(512 * 7 * 7, 16)
            twin.classifier[3] = torch.nn.Linear(16, 16)
            twin.classifier[6] = torch.nn.Linear(16, 4)
        return twin
    return make


class Distilbert(transformers.DistilBertModel):
    def forward(self, x):
        return super().forward(x, attention_mask=SEES.expand_as(x)).last_hidden_state[:, 0]


class Bert(transformers.BertModel):
    def forward(self, x):
        return super().forward(x, attention_mask=SEES.expand_as(x), token_type_ids=x % 2).pooler_output


class Gpt2(transformers.GPT2Model):
    def forward(self, x):
        return torch.nn.functional.linear(super().forward(x).last_hidden_state, self.wte.weight).mean(1)


class Llama(transformers.LlamaForCausalLM):
    def forward(self, x):
        return super().forward(x).logits.mean(1)


class T5(transformers.T5ForConditionalGeneration):
    def forward(self, x):
        return super().forward(x, attention_mask=SEES.expand_as(x), decoder_input_ids=x[:, :4]).logits.mean(1)


SEES = torch.arange(6).unsqueeze(0) < 5
SEES_HERE = "arange(6).unsqueeze(0).expand(B, 6) < 5"
SMALL = {"vocab_size": 13}


def distilbert():
    return Distilbert(transformers.DistilBertConfig(**SMALL, dim=12, hidden_dim=20, n_layers=2, n_heads=3, max_position_embeddings=8,
                                                    dropout=0.0, attention_dropout=0.0, pad_token_id=None))


def bert():
    return Bert(transformers.BertConfig(**SMALL, hidden_size=12, intermediate_size=20, num_hidden_layers=2, num_attention_heads=3,
                                        max_position_embeddings=8, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                                        pad_token_id=None))


def gpt2():
    return Gpt2(transformers.GPT2Config(**SMALL, n_embd=12, n_layer=2, n_head=3, n_positions=8, resid_pdrop=0.0, embd_pdrop=0.0,
                                        attn_pdrop=0.0))


def llama():
    return Llama(transformers.LlamaConfig(**SMALL, hidden_size=12, intermediate_size=20, num_hidden_layers=2, num_attention_heads=6,
                                          num_key_value_heads=2, rms_norm_eps=1e-5))


def t5():
    return T5(transformers.T5Config(**SMALL, d_model=12, d_kv=5, d_ff=20, num_layers=2, num_heads=3, dropout_rate=0.0))


def row(name, fields, net, make):
    return name, {"imports": f"import std.models.{{{name}}}", **fields, "net": net}, make


ROWS = [
    *(row(name, IMAGE, f"{name}(4)", images(name)) for name in ("resnet18", "resnet50")),
    row("mobilenet_v2", {**IMAGE, "dims": [3, 72, 60]}, "mobilenet_v2(4, dropout = 0.0)", images("mobilenet_v2")),
    row("vgg11", IMAGE, "vgg11(4, hidden = 16, dropout = 0.0)", images("vgg11")),
    row("vgg13_bn", IMAGE, "vgg13_bn(4, hidden = 16, dropout = 0.0)", images("vgg13_bn")),
    row("efficientnet", {**IMAGE, "dims": [3, 72, 60]}, "efficientnet(4, dropout = 0.0, stochastic_depth = 0.0)",
        images("efficientnet_b0")),
    row("convnext_tiny", IMAGE, "convnext_tiny(4, stochastic_depth = 0.0, layer_scale = 0.5)",
        images("convnext_tiny", layer_scale=0.5)),
    row("swin_t", {**IMAGE, "dims": [3, 64, 90]}, "swin_t(4, stochastic_depth = 0.0)", images("swin_t")),
    row("vit_b16", {**IMAGE, "dims": [3, 224, 224]}, "vit_b16(4)", images("vit_b_16")),
    row("distilbert", {**TEXT, "logits": f"net(x, {SEES_HERE})[:, 0]"},
        "distilbert(13, positions = 8, size = 12, layers = 2, heads = 3, inner = 20, dropout = 0.0)", distilbert),
    row("bert", {**TEXT, "logits": f"net(x, {SEES_HERE}, x % 2)[1]"},
        "bert(13, positions = 8, size = 12, layers = 2, heads = 3, inner = 20, dropout = 0.0)", bert),
    row("gpt2", {**TEXT, "logits": "net(x).mean(1)"}, "gpt2(13, positions = 8, size = 12, layers = 2, heads = 3, dropout = 0.0)", gpt2),
    row("llama", {**TEXT, "logits": "net(x).mean(1)"},
        "llama(13, size = 12, layers = 2, heads = 6, groups = 2, inner = 20)", llama),
    row("t5", {**TEXT, "logits": f"net(x, {SEES_HERE}, x[:, 0 .. 4]).mean(1)"},
        "t5(13, size = 12, layers = 2, heads = 3, head = 5, inner = 20, dropout = 0.0)", t5),
    ("sizes of each axis", {**IMAGE, "imports": "", "net": AXES}, axes),
    *((name, {**SERIES, "net": "Stack()", "blocks": STACK.format(f"{name}(3, 4, layers = 2, directions = 2)")},
       lambda name=name: Stack(getattr(torch.nn, name))) for name in ("LSTM", "GRU", "RNN")),
]


def state_of(twin):
    """The tensors of a twin, each once: what is tied has the first of its names."""
    seen, state = set(), {}
    for name, tensor in twin.state_dict().items():
        if tensor.numel() == 0 or tensor.data_ptr() not in seen:
            state[name] = tensor.detach().clone().contiguous()
        seen.add(tensor.data_ptr())
    return state


def loss_of(twin, x):
    return torch.nn.functional.cross_entropy(twin(x), torch.arange(4))


def batch_of(fields, count, of=torch.float32):
    if fields["kind"] == "i64":
        rows = [(torch.arange(count) * 7 + i * 3) % 13 for i in range(4)]
    else:
        rows = [torch.sin(torch.arange(count, dtype=torch.float64) * 0.01 + i).to(of) for i in range(4)]
    return torch.stack([row.reshape(fields["dims"]) for row in rows])


def gradients_of(twin):
    return {name: torch.zeros_like(weight) if weight.grad is None else weight.grad for name, weight in twin.named_parameters()}


def last(rows, name):
    return [float(row[name]) for row in rows if row.get(name)][-1]


def loss_with(threads, twin, x):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    with torch.no_grad():
        loss = loss_of(twin, x).item()
    torch.set_num_threads(before)
    return loss


def weights_of(run):
    file = run / "checkpoints/last/weights.safetensors"
    return {key.removeprefix("net."): value for key, value in safetensors.torch.load_file(file).items()}


def shaken_gradients(twin, x):
    """In f32, from weights of which each is one bit more or less."""
    shaken = copy.deepcopy(twin)
    shaken.zero_grad()
    with torch.no_grad():
        for weight in shaken.parameters():
            weight.mul_(1 + torch.randint_like(weight, -1, 2) * 2 ** -23)
    loss_of(shaken, x).backward()
    return gradients_of(shaken)


def compare_exactly(name, program, folder, before, exact, x):
    """In f64, where no rounding shows in a gradient."""
    exact.zero_grad()
    loss_of(exact, x).backward()
    there = gradients_of(exact)
    result = fit(program, folder / "f64", "--seed", 1, "--precision", "f64")
    if not check(f"{name}: fit in f64 exits 0", result.returncode == 0, result.text):
        return
    after = weights_of(newest(folder / "f64"))
    floor = max(gradient.abs().max().item() for gradient in there.values()) / 100
    worst = max((((before[key].double() - after[key]) / LEARNING_RATE - gradient).abs().max().item() / max(gradient.abs().max().item(), floor), key)
                for key, gradient in there.items())
    check(f"{name}: gradients in f64, error {worst[0]:.1e} of {EXACT:.0e}", worst[0] <= EXACT, worst)


def compare(name, fields, make, folder):
    count = torch.Size(fields["dims"]).numel()
    torch.manual_seed(1)
    twin = make()
    before = state_of(twin)
    safetensors.torch.save_file(before, folder / "twin.safetensors")
    source = folder / "waves.ltr"
    text = {**fields, "dims": ", ".join(map(str, fields["dims"])), "x": fields["x"].format(count=count)}
    source.write_text(PROGRAM.format(**text))
    program = build(source, folder, "program")
    result = fit(program, folder, "--seed", 1)
    if not check(f"{name}: fit exits 0", result.returncode == 0, result.text):
        return
    run = newest(folder)
    after = weights_of(run)
    wanted = {key: tuple(value.shape) for key, value in before.items()}
    have = {key: tuple(value.shape) for key, value in after.items()}
    if not check(f"{name}: names and shapes", wanted == have, f"{sorted(wanted.items() ^ have.items())[:8]}"):
        return
    with open(run / "metrics.csv") as file:
        rows = list(csv.DictReader(file))

    x = batch_of(fields, count)
    twin.train()
    exact, fresh = copy.deepcopy(twin).double(), copy.deepcopy(twin)
    losses = [loss_with(threads, copy.deepcopy(twin), x) for threads in (1, 2)]
    loss = loss_of(twin, x)
    loss.backward()
    exact_loss = loss_of(exact, x.double() if x.is_floating_point() else x)
    exact_loss.backward()
    ours = last(rows, "train/loss")
    allowed = max(LOSS * max(1, abs(ours)), 3 * max(abs(one - exact_loss.item()) for one in (loss.item(), *losses)))
    check(f"{name}: loss", abs(loss.item() - ours) <= allowed, f"{ours} here, {loss.item()} there, {exact_loss.item()} in f64")

    there, precise = gradients_of(twin), gradients_of(exact)
    floor = max(gradient.abs().max().item() for gradient in there.values()) / 100
    worst = (0.0, "")
    for key, gradient in there.items():
        scale = max(gradient.abs().max().item(), floor)
        # The step is seen as a difference of weights, which have 24 bits.
        unseen = 2 * before[key].abs().max().item() * 2 ** -24 / LEARNING_RATE
        error = ((before[key] - after[key]) / LEARNING_RATE - gradient).abs().max().item() - unseen
        worst = max(worst, (error / scale, key))

    def rounding_of(gradients):
        return max((gradients[key] - precise[key]).abs().max().item() / max(gradient.abs().max().item(), floor) for key, gradient in there.items())

    allowed = max(GRADIENT, 3 * rounding_of(there))
    if worst[0] > allowed:
        allowed = 3 * max(rounding_of(shaken_gradients(fresh, x)) for _ in range(SHAKEN))
    check(f"{name}: gradients of {len(there)} weights, error {worst[0]:.1e} of {allowed:.0e}", worst[0] <= allowed, worst)
    buffers = dict(exact.named_buffers())
    for key, buffer in twin.named_buffers():
        wanted = buffers[key]
        if key in after:
            error = (after[key].double() - buffer.double()).abs().max().item()
            own = (buffer.double() - wanted.double()).abs().max().item()
            if error > max(BUFFER * max(1, buffer.abs().max().item()), 3 * own):
                check(f"{name}: {key}", False, f"differs by {error}")

    if allowed > GRADIENT:
        compare_exactly(name, program, folder, before, exact, batch_of(fields, count, torch.float64))
    twin.load_state_dict(after, strict=False)
    twin.eval()
    with torch.no_grad():
        loss = loss_of(twin, x).item()
    ours = last(rows, "val/loss")
    check(f"{name}: loss in evaluation", abs(loss - ours) <= LATER_LOSS * max(1, abs(loss)), f"{ours} here, {loss} there")


names = [name for name in sys.argv[1:] if name != "--layers"]
for row in layers.ROWS if "--layers" in sys.argv else ROWS:
    if not names or row[0] in names:
        with scratch() as folder:
            compare(*row, pathlib.Path(folder))
finish()
