"""A random right program of declarations and settings of every kind: files that import each other, types, metrics with each
reduction, C++, callbacks at every hook, topologies, sweeps, loads of weights, manual steps. What the values are is known to program.py, what
the shapes are to network.py; here it is the forms, each with sizes and settings by chance."""
import random

from calls import Calls, dealt

EXTERN = """#include "{name}.ltr.h"
ltr::Tensor twice(const ltr::Tensor& x) {{ return x * 2; }}
ltr::Tensor twice_grad(const ltr::Tensor& x, const ltr::Tensor& output, const ltr::Tensor& gradient) {{ return gradient * 2; }}
ltr::Tensor thrice(const ltr::Tensor& x) {{ return x * 3; }}
"""

# Each: the hook, and what its body may hold.
ANYWHERE = ('print "{epoch} {global_step:>4}"', "seen += 1", "seen = seen + 1", 'if seen > 1000 { stop("enough") }', "share *= 0.5", "share /= 2.0",
            'if seen > 1000 { end_epoch("enough") } else if seen > 900 { save("late") }')
HOOKS = {
    "run_start": ("print verb",), "run_end": ("print verb",), "fit_start": (), "fit_end": ('save_png(ones(3, 4, 4), "{run.dir}/end.png")',), "sanity_start": (), "sanity_end": (),
    "train_start": (), "train_end": ("log seen = 1.0 * seen",), "train_epoch_start": (), "train_epoch_end": ("every 2 epochs { print seen }",),
    "train_batch_start": ("print batch.x.shape[0]",),
    "train_batch_end": ("every 2 steps { print loss }", "every 1 epoch { print batch_size }", "print max(batch.x)", "log kept = share on both"),
    "before_backward": ("print loss",), "after_backward": ("print loss",), "before_step": ("print norm(optimizer.grads) >= 0.0",),
    "after_step": ("print norm(optimizer.weights) > 0.0",), "val_epoch_start": (), "val_epoch_end": ("now = metric(val.loss)\n    log again = now", ),
    "val_batch_start": ("print stream",), "val_batch_end": ("print stream, min(batch.x)",), "test_epoch_start": (), "test_epoch_end": (),
    "test_batch_start": ("print stream",), "test_batch_end": ("print stream",), "predict_epoch_start": (), "predict_epoch_end": (),
    "predict_batch_start": ("print max(batch.x)",), "predict_batch_end": ("print output",), "checkpoint_save": (), "checkpoint_load": (),
    "failure": (),
}

TRAINER = ("epochs = 2", "min_epochs = 0", "min_steps = 1", "max_time = 1 h", "max_time = 30 min", "val_every = 1 epoch", "val_every = 2 steps",
           "sanity_val = 1", "val_at_start = true", "limit_train = 3", "limit_train = fraction(0.5)", "limit_val = 1", "limit_test = fraction(1.0)",
           "limit_predict = 2", "overfit = 1", "accumulate = 2", "accumulate = by_epoch([(0, 1), (1, 2)])",
           "accumulate = ramp(1, 2, over = 4 steps)", "weigh = batches", "weigh = samples", 'weigh = count("y", ignore = 1)', "log_every = 1", "nan = skip",
           "nan = raise", "nan = stop", "nan_limit = 5", "check_grads = true", "seed = 3", "deterministic = warn", "deterministic = true",
           "benchmark = auto", "host_ahead = 1", "anomaly = true", "checkpoint = false", "global_batch = 32", "steps_per_epoch = 3")
TOPOLOGY = ("precision = f32", "precision = f64", "nodes = 1", "sync_batchnorm = false", "timeout = 90 s", "restarts = 1", "workers = 1", "workers = auto",
            "threads = 1", "prefetch = 3", "bucket = 512 KiB", "bucket = 1 GiB", "bucket = 4 MiB")
LOGGERS = ("Csv()", "TensorBoard()", "Jsonl()", "Wandb()")
CALLBACKS = ("Checkpoint(monitor = val.loss)", "GradNorm()", "LrMonitor()", "Throughput()", "Timer()", "Ema(decay = 0.5)",
             "EarlyStop(monitor = val.loss, patience = 2)", "DeviceStats()", 'Histograms(every = 1 epoch, bins = 7)', "Summary()", "ProgressBar()",
             "SpikeGuard()", "SamplePredictions(n = 2)", 'ImageGrid("x", n = 3, every = 2 steps)', 'FreezeUntil("head.weight", epoch = 1)',
             'FreezeUntil("net", epoch = 1, growth = 1.5, train_norm = false)', 'Unfreeze([("head.bias", 1)], lr_ratio = 0.5)',
             "Swa(lr = 0.01, start = 0.0)", "Swa(lr = 0.01, start = 0 epochs)", "StopOnSignal(signal = usr2, requeue = never)")
# Runs have no server to tell.
RECEIVERS = ("slack", "teams", "discord", "webhook")
REDUCTIONS = {
    "sum": ("f64", "0.0", "{} + mean(x).to(f64)"), "mean": ("f64", "0.0", "mean(x).to(f64)"), "min": ("f64", "0.0", "minimum({}, min(x).to(f64))"),
    "max": ("f64", "0.0", "maximum({}, max(x).to(f64))"), "cat": ("float[?]", "zeros(0)", "cat([{}, x.flatten()])"),
}

VISION = ("save_png, random_affine, image_grid, resize, center_crop, random_crop, random_resized_crop, random_flip, random_vflip, "
          "random_rotation, pad_image, to_float, normalize, grayscale, color_jitter, gaussian_blur, auto_contrast, posterize, "
          "solarize, random_erasing, equalize, sharpness, random_perspective, rand_augment, trivial_augment, mixup, cutmix, random_flip_pair, "
          "random_vflip_pair, random_crop_pair, random_resized_crop_pair, random_rotation_pair, resize_pair")


class Variety:
    """`turn` counts the programs of this kind: ten of them one after another have all calls, settings and hooks."""

    def __init__(self, seed, turn):
        self.rng, self.seed, self.turn = random.Random(seed), seed, turn
        self.rows, self.wide = self.rng.choice((2, 3, 5)), self.rng.choice((2, 4, 6))
        self.parts, self.others = [], {}
        self.has_extern = self.rng.random() < 0.3
        self.values()
        self.library()
        self.functions()
        self.metrics()
        self.blocks()
        self.data()
        self.model()
        self.callbacks()
        self.topologies()
        self.experiments()
        self.tests()
        calls = Calls(self.rng, self.turn)
        self.parts += calls.test() + calls.data() + calls.model()

    def files(self):
        """{name: text}, the program itself first."""
        text = "\n".join(["ltr 1", *self.imports, *self.parts]) + "\n"
        return {f"v{self.seed}.ltr": text, **self.others}

    def chance(self, share=0.5):
        return self.rng.random() < share

    def entries(self, items, indent="  "):
        """`{ … }` with its entries apart in one of the ways."""
        if not items:
            return self.rng.choice(("{ }", "{\n}"))
        form = self.rng.randrange(4)
        if form == 0 and not any("\n" in item for item in items):
            return self.rng.choice(("{ ", "{; ")) + self.rng.choice((", ", "; ", ";; ")).join(items) + self.rng.choice((" }", ", }", "; }"))
        return "{\n" + "".join(f"{indent}  {item}{',;'[form - 2] if form > 1 else ''}\n" for item in items) + indent + "}"

    def values(self):
        rng = self.rng
        self.parts += ["", "## Rows of a record.", f"const rows = {self.rows}", f"const wide: int = {self.wide}",
                       "type Row = {x: float[rows, wide], y: i64}", "type Named = (str, option[list[int]])", "type Deep = list[{a: int, b: option[(int, str)]}]",
                       f"hparam lr: float = {rng.choice(('0.05', '1e-2', '0x1 / 20.0'))} where lr > 0 and lr < 1",
                       f"hparam size: int = {rng.choice((2, 4))}", "hparam pause: duration = 10 ms", "hparam room: bytes = 2 MiB"]
        if rng.random() < 0.5:
            self.parts.append('hparam act: str = "relu" where act in ["relu", "gelu",]')
            self.act = "act"
        else:
            self.act = '"relu"'

    def library(self):
        """A file that the program imports in one of the ways; both lie beside each other."""
        rng = self.rng
        name = f"near{self.seed}"
        self.others[f"{name}.ltr"] = "\n".join(
            ["ltr 1", "", "type Pair = {a: float[2], b: float[2]}", "const base = 2",
             "fn joined[N](a: float[N], b: float[N]) -> float[2 * N] where N > 0 = cat([a, b])",
             "block Scale(n: int) {", "  weight gain: float[n] = ones(n)", "  buffer calls: i64 = 0",
             "  fn forward(x: float[..., n]) -> float[..., n] {", "    calls = calls + 1", "    return x * gain", "  }", "}",
             "topology near { devices = cpu }", ""])
        form = ("names", "lines", "file", "as", "text")[self.turn % 5]
        if form in ("names", "lines"):
            listed = ("Pair, base, joined, Scale, near", f"\n  Pair, base, joined,\n  Scale, near{',' if self.turn % 2 else ''}\n")[form == "lines"]
            self.imports, self.near = [f"import {name}.{{{listed}}}"], ""
        else:
            self.imports = [{"file": f"import {name}", "as": f"import {name} as n", "text": f'import "{name}.ltr" as n'}[form]]
            self.near = f"{name}." if form == "file" else "n."
        self.imports += ["import std.models.{lenet, mlp, lstm_forecaster, unet, mobilenet_v2, resnet18, resnet34, resnet50, gpt2, bert, vit_b16}",
                         "import std.models.{vgg11, vgg13, vgg16, vgg19, vgg11_bn, vgg13_bn, vgg16_bn, vgg19_bn, efficientnet, convnext_tiny, convnext_small}",
                         "import std.models.{convnext_base, swin_t, swin_s, swin_b, distilbert, llama, t5}",
                         "import std.init.{xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal, orthogonal, trunc_normal}",
                         "import std.vision.{" + VISION + "}", "import std.audio.{mel_filters, mel_spectrogram, mfcc, resample, time_mask, frequency_mask}",
                         "import std.init as init", "import std.vision"]

    def functions(self):
        rng, near = self.rng, self.near
        if self.has_extern:
            name = "kernel"  # the same in all programs of a folder, and looked at once
            self.others[f"{name}.cpp"] = EXTERN.format(name=name)
            self.parts += ["", f'extern "{name}.cpp" ' + self.entries(
                ["fn twice[N](x: float[N]) -> float[N] where N > 0 backward twice_grad", "fn thrice[N](x: float[N]) -> float[N]"], "")]
        self.parts += ["", f"fn parted(p: {near}Pair, by: float = 2.0) -> float[] = sum({near}joined(p.a, p.b) / by)",
                       "fn fall(step: int, total: int) -> float = 1.0 - 0.5 * step / total",
                       "fn pool(a: {kept: f64}, b: {kept: f64}) -> {kept: f64} = (kept = a.kept + b.kept)",
                       "fn swapped[A, B](x: float[A, B]) -> float[B, A] where A > 0 {" + rng.choice(("", ";")), "  y = zeros(B, A)",
                       "  for i in 0 .. A { y[:, i] = x[i] }" + rng.choice(("", ";")), "  return y", rng.choice(("}", "\n}")),
                       f'fn named(n: Named) -> int = if n[0] == "" then 0 else n[0].length + {rng.randint(0, 3)}',
                       "fn quiet(x: float[]) { }" if rng.random() < 0.5 else "fn quiet(x: float[]) { return }"]

    def metrics(self):
        rng = self.rng
        merges = rng.random() < 0.4
        reductions = rng.sample([*REDUCTIONS], rng.randint(1, 3))
        items = [f"let better{rng.choice(('', ': one_of[min, max]'))} = {rng.choice(('min', 'max'))}"]
        if merges:
            items += ["state kept: f64 = 0.0 reduce merge pool",
                      "fn update(x: float[...]) { kept = pool((kept = kept), (kept = mean(x).to(f64))).kept }", "fn compute() -> f64 = kept"]
        else:
            for how in reductions:
                of, first, _ = REDUCTIONS[how]
                items.append(f"state {how}med: {of} = {first} reduce {how}")
            changed = [f"{how}med = {REDUCTIONS[how][2].format(f'{how}med')}" for how in reductions]
            items.append("fn update(x: float[...]) {\n    " + "\n    ".join(changed) + "\n  }")
            items.append(f"fn compute() -> f64 = {' + '.join(f'sum({how}med).to(f64)' for how in reductions)}")
        self.parts += ["", f"metric Spread() {self.entries(items, '')}"]
        # A value for each class: always, or as the one who builds it says.
        each = rng.random() < 0.5
        items = ["state seen: i64[classes] = zeros(classes).to(i64) reduce sum", "fn update[B](y: i64[B]) { seen += one_hot(y, classes).sum(0) }", "let better = max",
                 *(("fn compute() -> i64 = sum(seen)", "fn compute_each() -> float[classes] = seen / sum(seen)") if each else
                   ("fn compute() -> float[classes] = seen / sum(seen)",))]
        self.shares = "Shares(3, average = none)" if each else "Shares(3)"
        self.parts += ["", f"metric Shares(classes: int{', average: one_of[macro, none] = macro' if each else ''}) {self.entries(items, '')}"]

    def blocks(self):
        rng = self.rng
        signature, inner = rng.choice((("block [B](float[B, wide]) -> float[B, wide]", "Linear(wide, wide)"),
                                       ("block (float[...]) -> float[...]", "leaky_relu(0.1)"),
                                       ("block (float[...]) -> float[...]", "[relu, x => x * 0.5]")))
        items = [rng.choice(("let half = floor(n / 2)", "let half: int = floor(n / 2)")), "up = Linear(n, n + half)", "down = Linear(n + half, n)",
                 "weight shift: option[float[n]] = " + rng.choice(("none", "if n > 1 then zeros(n) else none")), "buffer calls: i64 = 0",
                 "fn forward[B](x: float[B, n]) -> float[B, n] {\n    calls += 1\n    y = x |> up |> down |> act\n    return y @ eye(n) + x\n  }"]
        self.parts += ["", f"block Inner(n: int, act: {signature}) {self.entries(items, '')}"]
        self.inner = f"Inner(wide, {inner})"
        self.parts += ["", "block One() {", "  weight one: float[] = ones()", "  fn forward() -> float[] = one * 2.0", "}",
                       "block Held(source: block () -> float[]) {", "  fn forward[B](x: float[B]) -> float[B] = x * source()", "}"]

    def data(self):
        rng = self.rng
        roles = rng.sample(("val", "test", "predict"), 3)
        streams = {"val": ["val = cut[0] |> collate(2)"], "test": ["test = cut[1] |> collate(2)"],
                   "predict": ['predict = cut[0] |> select("x") |> collate(2)']}
        self.monitor = "val.loss"
        if rng.random() < 0.4:
            streams["val"] = ["val.near = cut[0] |> collate(2)", "val.far = cut[1] |> collate(2)"]
            self.monitor = "val.near.loss"
        lines = [line for role in roles for line in streams[role]]
        first = ["let all = range(12) |> map(row)", "let cut = all |> split([0.5, 0.5], seed = 1)"]
        schema, row = "batch[B] { x: float[B, rows, wide], y: i64[B] }", "fn row(s: {i: int}) -> Row = (x = randn(rows, wide), y = s.i % 3)"
        train = "train = all |> shuffle(1) |> collate(4)"
        items = ([schema, row, *first, train, *lines], [row, *first, schema, *lines, train], [*first, row, train, *lines, schema])[self.turn % 3]
        between = ("\n  ", ";\n  ", ";\n\n  ")[self.turn // 6 % 3]
        self.parts += ["", f"data Made{rng.choice(('', '()'))} {{{('', ';')[self.turn // 3 % 2]}" + chr(10) + "  " + between.join(items) + rng.choice((" }", "\n}"))]
        self.parts += ["", "data Fixed { " + rng.choice(("", "\n")) + "batch { z: float[2, 3] } }"] if rng.random() < 0.4 else []

    def model(self):
        rng = self.rng
        if self.turn % 2:
            rules = dealt(rng, ('rename "module.*" => "*"', 'skip "bias"', 'freeze "weight"', 'skip "more.*"'), self.turn // 2, 5)
            self.parts += ["", "model Loaded() {", '  net = Linear(2, 1) from "none-yet.safetensors"' + (" " + self.entries(rules) if rules else ""),
                           "  head = Linear(1, 1)", "  optimizer opt = SGD([net.weights, head.weights], lr = 0.1)",
                           "  step train[B](x: float[B, 2]) { minimize mean(head(net(x))) }", "}"]
        self.manual = rng.random() < 0.35
        settings = rng.sample(("clip_norm = 1.0", "clip_value = 0.5", 'group "@bias" { weight_decay = 0.0 }', 'group "*.weight" { lr = 2 * lr, weight_decay = 0.1 }'),
                              rng.randint(0, 4))
        schedules = (None, "cosine(warmup = 1 steps)", "fall", "chain(linear_warmup(1 steps), fall)", f"plateau({self.monitor})", "constant()",
                               "sequential([(constant(), 1 step), (linear(), 3 steps)])", "one_cycle()", "cosine_restarts(2 steps)")
        schedule = schedules[self.turn % len(schedules)]
        settings += [] if schedule is None else [f"schedule = {schedule}"]
        rng.shuffle(settings)
        rule = rng.choice(("AdamW", "Lion", "NAdam", "Lamb", "RAdam"))
        self.parts += ["", "model Net(lr: float) {", f"  net = {self.inner}", f"  scale = {self.near}Scale(wide)", "  head = Linear(wide, 3)",
                       "  hits = Accuracy(3)", "  spread = Spread()", "  recall = Recall(3, average = none)", f"  shares = {self.shares}", *rng.choice(([], ['  init "*.weight" = normal(std = 0.1)'], ['  init "head.*" = ones()'])),
                       f"  optimizer opt = {rule}([net.weights, scale.weights, head.weights], lr = lr)" + (" " + self.entries(settings) if settings else ""),
                       "  fn logits[B](x: float[B, rows, wide]) -> float[B, 3] = head(scale(net(x[:, 0])))",
                       "  fn best[B](x: float[B, rows, wide]) -> i64[B] = logits(x).argmax(1)"]
        self.parts += self.train(schedule)
        logged = dealt(rng, ("log hits = hits(out, y) bar", "log spread = spread(out)", "log recall = recall(out, y)", "log shares = shares(y)", "log most = max(out) on epoch reduce max",
                             "log least = min(out) reduce min", "log total = sum(out) reduce sum", "log middle = mean(out) reduce mean bar"), self.turn, 2)
        self.parts += ["  step val[B](x: float[B, rows, wide], y: i64[B]) {", "    out = logits(x)", "    loss = cross_entropy(out, y)", "    log loss",
                       *(f"    {one}" for one in logged), "  }", "  step test = val", "  step share[B](x: float[B, rows, wide]) -> float[] = mean(logits(x))"]
        form = rng.choice(("= logits(x)", "{ return logits(x) }"))
        self.parts += [f"  step predict[B](x: float[B, rows, wide]) -> float[B, 3] {form}", "}"]

    def train(self, schedule):
        rng = self.rng
        extra = dealt(rng, ("log image shown = x.clamp(0.0, 1.0).reshape(B, 1, rows, wide)", "log histogram out", 'log text told = "{epoch}: {B}"',
                            "log part = mean(out) on step", "log whole = mean(out) on both bar", "log seldom = max(out) on epoch reduce max",
                            'assert loss > -1.0, "no loss"', "every 2 steps { print loss }", "every 1 epoch { print \"{loss:.3}\" }",
                            "no_grad { far = mean(out) }\n    log far", "if B > 3 { print B } else if B > 2 { print 2 * B }", "if B > 100 { print \"\" }",
                            "print out[..., 0].shape, out[:, new].shape, out[1 ..].shape, out[.. 2].shape, [out][0].shape",
                            "print share(x)"), self.turn, 3)
        head = "  step train[B](x: float[B, rows, wide], y: i64[B])"
        body = ["    out = logits(x)", "    loss = cross_entropy(out, y)"]
        if self.manual:
            body += ["    opt.zero_grad()", "    backward loss", rng.choice(("    opt.clip_norm(1.0)", "    opt.clip_value(1.0)", "    opt.set_lr(0.01)")),
                     "    opt.step()"]
        else:
            body.append(rng.choice(("    minimize loss", "    minimize loss with opt")))
        return [head + (" manual {" if self.manual else " {"), *body, "    log loss bar", *(f"    {one}" for one in extra), "  }"]

    def callbacks(self):
        rng = self.rng
        hooks = []
        for hook in dealt(rng, HOOKS, self.turn, 3):
            body = [rng.choice(ANYWHERE), *rng.sample(HOOKS[hook], min(1, len(HOOKS[hook])))]
            if "val.loss" in " ".join(body) and self.monitor != "val.loss":
                body = body[:1]
            hooks.append(f"on {hook} {{\n    " + "\n    ".join(body) + "\n  }")
        items = ["state seen: int = 0", "state share: float = 1.0", "fn doubled(x: int) -> int = 2 * x", *hooks]
        rng.shuffle(items)
        self.parts += ["", f"callback Watch{rng.choice(('', '()', '(n: int = 2)'))} for Net {self.entries(items, '')}",
                       "", "callback Nothing " + rng.choice(("{ }", "{\n}"))]

    def topologies(self):
        rng = self.rng
        items = {item.split(" ")[0]: item for item in dealt(rng, TOPOLOGY, self.turn, 3)}
        if rng.random() < 0.3:
            items.pop("precision", None)
            items["precision "] = "precision { compute = bf16, weights = f32, reduce = bf16 }"
        self.parts += ["", "topology one " + self.entries(["devices = cpu", *items.values()], "")]
        divides, mesh = rng.choice(((["mesh = (replica = 2, fsdp = 4)", "shard batch over replica, fsdp", "shard weights over fsdp at Inner"],
                                     "(replica = 4, fsdp = 4)"),
                                    (["mesh = (fsdp = 8)", "shard batch over fsdp", "shard weights over fsdp at Inner", "recompute at Inner"],
                                     "(fsdp = 16)")))
        self.parts += ["topology many " + self.entries(["devices = cuda[8]", *divides], ""),
                       f"topology more amends many {{ nodes = 2, mesh = {mesh}, backend = nccl, scheduler = slurm(partition = \"gpu\", time = 4 h) }}",
                       "topology ranks { devices = cpu[2], strategy = ddp, backend = gloo }", f"topology mine amends {self.near}near {{ threads = 1 }}"]

    def experiments(self):
        rng = self.rng
        chosen = {}
        for item in dealt(rng, TRAINER, self.turn, 4):
            chosen.setdefault(item.split(" ")[0], item)
        chosen.setdefault("epochs", "steps = 3")
        unfit = [{"accumulate", "global_batch"} if self.manual else set(), {"global_batch"} if "accumulate" in chosen else set(),
                 {"accumulate"} if "steps_per_epoch" in chosen else set(),
                 {"val_every"} if "overfit" in chosen else set()]
        items = [item for name, item in chosen.items() if not any(name in some for some in unfit)]
        rng.shuffle(items)
        callbacks = [one.replace("val.loss", self.monitor) for one in dealt(rng, CALLBACKS, self.turn, 5)] + rng.sample(("Watch()", "Nothing()"), 1)
        # Rounds have one set of weights.
        if any(one.startswith("Swa") for one in callbacks):
            callbacks = [one for one in callbacks if not one.startswith("Ema")]
        tells = f'Notify({RECEIVERS[self.turn % len(RECEIVERS)]}(env("NO_HOOK")), on = [{rng.choice(("start, finish", "fail", "best"))}], every = {rng.choice(("none", "5 min"))})'
        address = rng.choice(("", 'uri = "http://127.0.0.1:9", '))
        tracks = f'Mlflow({address}run_name = run.name, artifacts = {rng.choice(("best", "last", "all", "none"))}, auto = {rng.choice(("true", "false"))})'
        comet = "Comet(" + rng.choice(("", 'workspace = "lab", ')) + "name = run.name)"
        sections = ["data = Made()", "model = Net(lr)", "topology = one", "trainer " + self.entries(items),
                    "callbacks " + self.entries(callbacks), "loggers " + self.entries(rng.sample(LOGGERS, rng.randint(0, 2))),
                    'tags { kind = "random", of = "forms" }', 'serve { host = "127.0.0.1", port = 0, max_batch = 8, wait = 1 ms, queue = 16 }', self.sweep()]
        self.parts += ["", f"experiment e {self.entries(sections, '')}",
                       "experiment longer amends e " + self.entries(
                           ["topology = many", f"callbacks += {{ {'Watch' if 'Nothing()' in callbacks else 'Nothing'}(), {tells} }}", f"loggers += {{ {tracks}, {comet} }}", "tags { }",
                            rng.choice(("set lr = 0.02", "set lr = 0.02, size = 4"))], "")]

    def sweep(self):
        rng = self.rng
        if rng.random() < 0.3:
            return f"sweep {{ size in [2, 4], method = grid, minimize = {self.monitor} }}"
        draws = ["lr = " + rng.choice(("log_uniform(1e-3, 0.5)", "uniform(0.01, 0.5)", "normal(0.1, 0.01)")),
                 rng.choice(("size = int_uniform(2, 4)", "size in [2, 4]"))]
        return "sweep " + self.entries([*draws, "trials = 4", f"minimize = {self.monitor}",
                                        *rng.choice(([], ["method = random"], ["prune = asha(max = 2 epochs)"]))])

    def tests(self):
        rng, near = self.rng, self.near
        lines = ["net = Net(lr)", "assert net.logits(randn(2, rows, wide)).shape == [2, 3]", f"p: {near}Pair = (a = ones(2), b = zeros(2))",
                 f'assert close(parted(p), 1.0, 1e-6), "{{p.a}}"', "assert swapped(randn(2, 3)).shape == [3, 2]", "r = (a = 1, b = (c = 2.0, d = [1, 2]))",
                 "r.b.c = 3.0", "l = [1, 2, 3]", "t = zeros(3, 4)", "t[0, 1 .. 3] = 2.0", "t *= 2.0", "t /= 4.0", "assert sum(t) == 2.0",
                 'assert named(("ab", none)) >= 2', "assert t[..., 0].shape == [3] and t[new, 1].shape == [1, 4] and t[1 ..].shape == [2, 4] and t[..].shape == [3, 4]",
                 "empty: list[int] = []", 'print "", r.b, "{t}", l, empty.length',
                 f'assert "{{{near}base}}" == "2"', "assert equal(Held(One())(ones(2)), [2.0, 2.0])", "k = tracked(ones(3))",
                 "assert equal(grad(sum(k * 2.0), k), [2.0, 2.0, 2.0])", "a = t @ t.transpose(0, 1)"]
        if self.has_extern:
            lines.append("assert close(thrice(ones(3)), twice(ones(3)) * 1.5, 1e-6)")
        self.parts += ["", 'test "forms" {', *(f"  {line}" for line in lines), "}",
                       'test "refused" fails E0303 {' + " ones(2, 3) @ ones(2, 3); q => q; scan r over ones(2, 3) dim 0 with h = 0.0 { yield r } }"]
