"""A random right step: networks, optimizers, what `step train` does with them in which order, `step val`, hooks, an
experiment. What the generator knows of a value: its kind, and the versions of the weights on the way of its gradient, since a
loss of weights that have moved since is E0406. Nothing is drawn while such a program trains."""
import random

from blocks import AGAIN, BLOCKS, PARTS

RULES = ("SGD({}, lr = 0.05)", "SGD({}, lr = 0.03, momentum = 0.9)", "SGD({}, lr = 0.03, momentum = 0.5, weight_decay = 0.1)",
         "Adam({}, lr = 0.01, eps = 1e-3)", "AdamW({}, lr = 0.01, eps = 1e-3, weight_decay = 0.1)", "RMSprop({}, lr = 0.005, eps = 1e-2)",
         "Adagrad({}, lr = 0.01, eps = 1e-3)", "NAdam({}, lr = 0.01, eps = 1e-3)", "Adamax({}, lr = 0.01, eps = 1e-3)",
         "Adadelta({}, lr = 0.5, eps = 1e-3)", "Lamb({}, lr = 0.01, eps = 1e-3)", "RAdam({}, lr = 0.01, eps = 1e-3)")
SCHEDULES = ("cosine(warmup = 2 steps)", "linear()", "step(every = 4 steps, gamma = 0.5)", "polynomial(power = 2.0)")


class Value:
    def __init__(self, text, reads=None):
        self.text, self.reads = text, dict(reads or {})

    def with_(self, text, *others):
        """An expression of this value and others. Of two versions of a weight the older one counts."""
        reads = dict(self.reads)
        for other in others:
            for owner, version in other.reads.items():
                reads[owner] = min(version, reads.get(owner, version))
        return Value(text, reads)


class Steps:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.seed = seed
        self.count = 0
        self.manual = self.rng.random() < 0.5
        self.members()
        self.train()
        self.val()
        self.hooks()
        self.experiment()

    def text(self):
        return "\n".join(self.lines) + "\n"

    def chance(self, share):
        return self.rng.random() < share

    def fresh(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    # ---- what there is

    def members(self):
        rng = self.rng
        self.nets = {f"n{i}": rng.choice(BLOCKS) for i in range(rng.randint(1, 3))}
        self.owners = [f"o{i}" for i in range(rng.randint(1, min(3, len(self.nets) + 1)))]
        self.owner_of = {}  # by net, or weight of the model: the optimizers that train a part of it
        given = {owner: [] for owner in self.owners}
        free = [*self.owners]
        for net, block in self.nets.items():
            parts = PARTS.get(block)
            if parts and len(self.owners) > 1 and (self.chance(0.25) or len(free) > len(self.nets)):
                # Of a network two optimizers have parts.
                first, second = (free + rng.sample(self.owners, 2))[:2] if len(free) > 1 else rng.sample(self.owners, 2)
                at = rng.randint(1, len(parts) - 1)
                given[first] += [f"{net}.{part}.weights" for part in parts[:at]]
                given[second] += [f"{net}.{part}.weights" for part in parts[at:]]
                self.owner_of[net] = (first, second)
            else:
                owner = free[0] if free else rng.choice(self.owners)
                given[owner].append(f"{net}.weights")
                self.owner_of[net] = (owner,)
            free = [owner for owner in free if owner not in self.owner_of[net]]
        for name in ("scale", "shift"):
            self.owner_of[name] = (rng.choice(self.owners),)
            given[self.owner_of[name][0]].append(name)
        self.owners = [owner for owner in self.owners if given[owner]]
        # What only follows.
        self.teachers = {f"t{i}": net for i, net in enumerate(rng.sample([*self.nets], rng.randint(0, 1)))}
        settings = lambda: rng.choice(("", "", " { clip_norm = 0.5 }", " { clip_value = 0.05 }", f" {{ schedule = {rng.choice(SCHEDULES)} }}",
                                       f" {{ schedule = {rng.choice(SCHEDULES)}, clip_norm = 1.0 }}"))
        self.lines = [f"model M{self.seed}() {{"]
        self.lines += [f"  {net} = {block}()" for net, block in self.nets.items()]
        self.lines += [f"  {teacher} = {self.nets[net]}()" for teacher, net in self.teachers.items()]
        self.lines += ["  weight scale: float[] = ones()", "  weight shift: float[3] = zeros(3)", "  buffer tally: float[] = 0.0",
                       "  buffer trace: float[3] = zeros(3)", "  buffer square: float[3, 3] = eye(3)", "  of_train = MeanMetric()",
                       "  of_val = MeanMetric()"]
        self.lines += [f"  optimizer {owner} = {rng.choice(RULES).format('[' + ', '.join(given[owner]) + ']')}{settings()}" for owner in self.owners]

    def reads_of(self, name):
        return {owner: self.versions[owner] for owner in self.owner_of[name]}

    def is_fresh(self, value):
        return all(self.versions[owner] == version for owner, version in value.reads.items())

    # ---- expressions

    def wide(self, values, plain=False):
        """float[B, 4]"""
        kind = self.rng.randrange(5)
        if kind == 0 or plain:
            return Value(self.rng.choice(("x", "x", "(2.0 * x)", "tanh(x)")))
        if kind < 3 and values["rows"]:
            of = self.rng.choice(values["rows"])
            return of.with_(f"cat([{of.text}, x[:, 0 .. 1]], 1)")
        return Value("x")

    def applied(self, net, values):
        x = self.wide(values, plain=self.nets[net] == "Tied")
        if self.chance(0.2):
            return x.with_(f"frozen({net})({x.text})")
        return x.with_(f"{net}({x.text})", Value("", self.reads_of(net)))

    def rows(self, values, depth=0):
        """float[B, 3]"""
        rng = self.rng
        kind = rng.randrange(13)
        if values["rows"] and self.chance(0.4):
            return rng.choice(values["rows"])
        if kind < 4 or depth > 2:
            return self.applied(rng.choice([*self.nets]), values)
        if kind == 4 and self.teachers:
            teacher = rng.choice([*self.teachers])
            x = self.wide(values, plain=self.nets[self.teachers[teacher]] == "Tied")
            return x.with_(f"frozen({teacher})({x.text})")
        a = self.rows(values, depth + 1)
        if kind == 5:
            b = self.rows(values, depth + 1)
            return a.with_(f"({a.text} {rng.choice('+-*')} {b.text})", b)
        if kind == 6:
            return a.with_(f"({a.text} * scale)", Value("", self.reads_of("scale")))
        if kind == 7:
            return a.with_(f"({a.text} + shift)", Value("", self.reads_of("shift")))
        if kind == 8:
            row = self.row(values)
            return a.with_(f"({a.text} {rng.choice('+*')} {row.text})", row)
        if kind == 9:
            return Value(f"stop_grad({a.text})")
        return a.with_(rng.choice(("tanh({})", "relu({})", "(sigmoid({}) - 0.5)", "(0.3 - softmax({}, 1))")).format(a.text))

    def row(self, values):
        """float[3]"""
        kind = self.rng.randrange(5)
        if kind == 0 and values["row"]:
            return self.rng.choice(values["row"])
        if kind == 1:
            return Value("square[1]")
        if kind == 2:
            return Value("square.transpose(0, 1)[0]")
        if kind == 3:
            return Value("(shift * scale)", {**self.reads_of("shift"), **self.reads_of("scale")})
        return Value("trace")

    def number(self, values, depth=0):
        """float[]"""
        rng = self.rng
        kind = rng.randrange(9)
        if kind == 0 and values["number"]:
            return rng.choice(values["number"])
        if kind == 1 and depth < 2:
            a, b = self.number(values, depth + 1), self.number(values, depth + 1)
            return a.with_(f"({a.text} + 0.5 * {b.text})", b)
        if kind == 2:
            net = rng.choice([*self.nets])
            return Value(f"norm({net}.weights)", self.reads_of(net))
        a = self.rows(values)
        if kind == 3:
            return a.with_(f"cross_entropy({a.text}, y)")
        if kind == 4:
            return a.with_(f"mean({a.text} ** 2)")
        if kind == 5:
            row = self.row(values)
            return a.with_(f"(sum({row.text}) * mean({a.text}))", row)
        b = self.rows(values)
        return a.with_(f"mse({a.text}, {b.text})", b)

    def loss(self, values, owner):
        """A number whose gradient reaches weights of `owner`, all of them as they are now."""
        net = self.rng.choice([name for name, owners in self.owner_of.items() if owner in owners and name in self.nets] or [None])
        known = [value for value in values["rows"] if owner in value.reads and self.is_fresh(value)]
        if known and self.chance(0.6):
            near = self.rng.choice(known)
        elif net is None:
            near = Value("(x[:, 0 .. 3] * scale + shift)", {**self.reads_of("scale"), **self.reads_of("shift")})
        else:
            x = self.wide(values, plain=self.nets[net] == "Tied")
            near = x.with_(f"{net}({x.text})", Value("", self.reads_of(net)))
        if self.chance(0.3):
            other = self.rows(values)
            near = near.with_(f"({near.text} + {other.text})", other)
        kind = self.rng.randrange(4)
        if kind == 0:
            value = near.with_(f"cross_entropy({near.text}, y)")
        elif kind == 1:
            value = near.with_(f"mean(tanh({near.text}) ** 2)")
        else:
            other = self.rows(values)
            value = near.with_(f"mse({near.text}, {other.text})", other)
        if self.chance(0.2):
            other = self.number(values)
            value = value.with_(f"({value.text} + 0.1 * {other.text})", other)
        if self.chance(0.15) and self.is_fresh(Value("", self.reads_of("scale"))):
            value = value.with_(f"({value.text} + scale)", Value("", self.reads_of("scale")))
        if self.leaves_out and self.chance(0.5):
            value = value.with_(f"({value.text} * (1.0 + 0.1 * log(x[0, 0] + 0.8)))")
        return value if self.is_fresh(value) or self.chance(0.01) else None

    # ---- statements

    def say(self, text):
        self.lines.append("  " * self.depth + text)

    def updated(self, owner):
        self.versions[owner] += 1
        self.gradients.discard(owner)

    def opened(self, head, values, body, bumps=True):
        """A body of its own, from which no name comes out. What it updates has moved behind it."""
        self.say(head + " {")
        self.depth += 1
        before = dict(self.versions)
        body({kind: list(known) for kind, known in values.items()})
        self.depth -= 1
        self.say("}")
        for owner in self.owners:
            if self.versions[owner] != before[owner] and bumps:
                self.versions[owner] += 1

    def assigned(self, values, kind=None):
        """A name for something, in or out of `no_grad`."""
        rng = self.rng
        kind = kind or rng.choice(("rows", "rows", "number", "row"))
        value = {"rows": self.rows, "number": self.number, "row": self.row}[kind](values)
        name = self.fresh("v")
        # Another name for what was computed outside is nothing that is computed there.
        if self.chance(0.15) and not value.text.isidentifier():
            self.say(f"no_grad {{ {name} = {value.text} }}")
            value = Value("")
        else:
            self.say(f"{name} = {value.text}")
        values[kind].append(Value(name, value.reads))

    def logged(self, values):
        kind = self.rng.randrange(6)
        if kind == 0:
            row = self.row(values)
            value = f"{row.text}[{self.rng.randrange(3)}]"
        elif kind == 1:
            value = self.rng.choice(("scale", "shift[1]", "tally", "sum(trace)", "square[0, 2]", "sum(square * trace)"))
        elif kind == 2:
            value = f"norm({self.rng.choice([*self.nets, *self.teachers])}.weights)"
        else:
            value = self.number(values).text
        if kind == 3 and not self.has_metric:
            self.has_metric = True
            value = f"of_train({value})"
        self.say(f"log {self.fresh('l')} = {value}{self.rng.choice(('', '', ' on epoch', ' on both'))}")

    def buffered(self, values):
        rng = self.rng
        rows = self.rows(values).text
        self.say(rng.choice((
            "tally = tally + 1", f"tally = 0.5 * tally + stop_grad(mean({rows}))", f"trace = 0.9 * trace + 0.1 * stop_grad({rows}).mean(0)",
            "trace = trace.flip([0])", "trace = stop_grad(shift) + square[1]", "square = 0.5 * square.transpose(0, 1) + trace.unsqueeze(1)",
            "square = square.transpose(0, 1)", f"square = 0.5 * square + stop_grad({rows}[0 .. 3])", "tally = 0.25", "trace = square[2]")))

    def averaged(self):
        pairs = [*self.teachers.items()] + [(a, b) for a in self.nets for b in self.nets if a != b and self.nets[a] == self.nets[b]]
        if pairs:
            target, source = self.rng.choice(pairs)
            self.say(f"ema_update({target}, {source}, 0.9)")
            for owner in self.owner_of.get(target, ()):
                self.versions[owner] += 1

    def written_loss(self, values, owner):
        """A loss, sometimes under a name of its own; None if there is none."""
        loss = self.loss(values, owner)
        if loss is not None and self.chance(0.5):
            name = self.fresh("v")
            self.say(f"{name} = {loss.text}")
            loss = Value(name, loss.reads)
            values["number"].append(loss)
        return loss

    def minimized(self, values, owner):
        loss = self.written_loss(values, owner)
        if loss is None:
            return False
        self.say(f"minimize {loss.text} with {owner}")
        self.updated(owner)
        return True

    def back(self, values, owner):
        loss = self.written_loss(values, owner)
        if loss is None:
            return False
        self.say(f"backward {loss.text}")
        self.gradients |= set(loss.reads)
        return True

    def group(self, values):
        """By hand: gradients thrown away, losses, clips and updates in a random order that is legal."""
        rng = self.rng
        for owner in self.owners:
            if owner in self.gradients and self.chance(0.8) or self.chance(0.5):
                self.say(f"{owner}.zero_grad()")
                self.gradients.discard(owner)
        for _ in range(rng.randint(2, 7)):
            ready = [owner for owner in self.owners if owner in self.gradients]
            kind = rng.randrange(8)
            if kind < 2 or not ready:
                self.back(values, rng.choice(self.owners))
            elif kind == 2:
                self.say(f"{rng.choice(ready)}.clip_norm({rng.choice(('0.1', '1.0'))})")
            elif kind == 3:
                self.say(f"{rng.choice(ready)}.clip_value(0.02)")
            elif kind == 4 and self.chance(0.5):
                self.say(f"{rng.choice(self.owners)}.set_lr({rng.choice(('0.01', '0.02'))})")
            elif kind == 5:
                self.any(values)
            else:
                owner = rng.choice(ready)
                self.say(f"{owner}.step()")
                self.steps.add(owner)
                self.updated(owner)
        for owner in [owner for owner in self.owners if owner in self.gradients]:
            if self.chance(0.8):
                self.say(f"{owner}.step()")
                self.steps.add(owner)
                self.updated(owner)

    def one_update(self, values, owner):
        """Of `owner` alone, whole, so that it may stand in a branch or a loop."""
        if not self.manual:
            return self.minimized(values, owner)
        for other in self.owners:
            self.say(f"{other}.zero_grad()")
        self.gradients = set()
        if not self.back(values, owner):
            return False
        if self.chance(0.5):
            self.say(f"{owner}.clip_norm(0.3)")
        self.say(f"{owner}.step()")
        self.updated(owner)
        for other in [other for other in self.owners if other in self.gradients]:
            self.say(f"{other}.zero_grad()")
        self.gradients = set()
        return True

    def any(self, values):
        kind = self.rng.randrange(10)
        if kind < 3:
            self.assigned(values)
        elif kind < 6:
            self.logged(values)
        elif kind < 9:
            self.buffered(values)
        else:
            self.averaged()

    def inner(self, values, owner):
        def body(known):
            for _ in range(self.rng.randint(0, 2)):
                self.any(known)
            if owner is not None:
                self.one_update(known, owner)
            for _ in range(self.rng.randint(0, 2)):
                self.any(known)
            self.say(f"log {self.fresh('l')} = {self.number(known).text}")
        return body

    def branched(self, values):
        """`every`, `if` or a loop, with an update in it or none."""
        owner = self.rng.choice(self.owners) if self.chance(0.6) and (self.manual or not self.accumulates) else None
        kind = self.rng.randrange(10)
        if kind < 4:
            self.opened(f"every {self.rng.choice((2, 3))} steps", values, self.inner(values, owner))
        elif kind < 6:
            self.opened(f"if {self.rng.choice(('global_step % 3 == 1', 'epoch == 1', 'epoch % 2 == 0', 'batch_size == 16'))}", values,
                        self.inner(values, owner))
        else:
            # Values from outside are of the weights before its first round.
            if owner is not None:
                for other in self.owners:
                    self.versions[other] += 1
            self.opened("for i in 0 .. 2", values, self.inner(values, owner))

    def begin(self):
        self.versions = {owner: 0 for owner in self.owners}
        self.gradients, self.steps, self.has_metric, self.depth = set(), set(), False, 2
        return {"rows": [], "row": [], "number": []}

    def train(self):
        rng = self.rng
        self.accumulates = not self.manual and self.chance(0.2)
        self.leaves_out = self.chance(0.15)  # losses that are not finite in some batches
        values = self.begin()
        self.lines.append(f"  step train[B](x: float[B, 4], y: i64[B]) {'manual ' if self.manual else ''}{{")
        wanted = [*self.owners] + ([] if self.accumulates else rng.choices(self.owners, k=rng.randint(0, 1)))
        rng.shuffle(wanted)
        # What later losses may be made of, whatever is written between.
        for _ in range(rng.randint(0, 4)):
            self.assigned(values, "rows")
        for at, owner in enumerate(wanted):
            for _ in range(rng.randint(0, 3)):
                self.any(values)
            if self.chance(0.35):
                self.branched(values)
            if at > 0 and self.chance(0.1):
                self.say(f"if {rng.choice(('global_step % 4 == 3', 'epoch == 1 and batch_size == 12'))} {{ return }}")
            if not self.manual:
                while not self.minimized(values, owner):
                    pass
            else:
                self.group(values)
                while owner not in self.steps:
                    if self.back(values, owner):
                        self.say(f"{owner}.step()")
                        self.steps.add(owner)
                        self.updated(owner)
        for _ in range(rng.randint(1, 4)):
            self.any(values)
        self.logged(values)
        for teacher, net in self.teachers.items():
            if not any(f"ema_update({teacher}," in line for line in self.lines):
                self.say(f"ema_update({teacher}, {net}, 0.9)")
        self.lines.append("  }")

    def val(self):
        values = self.begin()
        self.has_metric = True
        self.lines.append("  step val[B](x: float[B, 4], y: i64[B]) {")
        for _ in range(self.rng.randint(0, 3)):
            self.rng.choice((self.assigned, self.buffered))(values)
        for _ in range(self.rng.randint(1, 3)):
            self.say(f"log {self.fresh('l')} = {self.number(values).text}")
        self.say(f"log mean = of_val({self.number(values).text})")
        self.lines += ["  }", "}"]

    # ---- around the step

    def hooks(self):
        self.callbacks = []
        if not self.chance(0.4):
            return
        net = self.rng.choice([*self.nets])
        seen = self.rng.choice([*self.nets, *self.teachers])
        bodies = [f"  on before_backward {{ log looked = mean(model.{seen}(ones(2, 4))) }}", f"  on train_batch_start {{ log looked = mean(model.{seen}(batch.x)) }}",
                  f"  on train_batch_end {{ log size = norm(model.{net}.weights) }}", f"  on val_epoch_end {{ log size = norm(model.{net}.weights) }}",
                  "  on train_batch_end { log kept = sum(model.trace) + model.tally }"]
        if self.teachers:
            bodies.append("  on train_batch_end { ema_update(model.{}, model.{}, 0.8) }".replace("{}", "%s") % [*self.teachers.items()][0])
            bodies.append("  on before_backward { ema_update(model.{}, model.{}, 0.7) }".replace("{}", "%s") % [*self.teachers.items()][0])
        if not self.manual:
            bodies += ["  on after_backward { log slope = norm(optimizer.grads) }", "  on before_step { log clipped = grad_norm }"]
        if len(self.nets) > 1:
            a, b = self.rng.sample([*self.nets], 2)
            if self.nets[a] == self.nets[b]:
                bodies.append(f"  on after_step {{ ema_update(model.{a}, model.{b}, 0.95) }}")
        chosen = {body.split("{")[0]: body for body in self.rng.sample(bodies, min(len(bodies), self.rng.randint(1, 2)))}
        self.lines += [f"callback W{self.seed}() for M{self.seed} {{", *chosen.values(), "}"]
        self.callbacks.append(f"W{self.seed}()")

    def experiment(self):
        rng = self.rng
        net = rng.choice([*self.nets])
        kind = rng.randrange(12)
        if kind < 3:
            self.callbacks.append(rng.choice(("Ema(decay = 0.8)", "Ema(decay = 0.9, every = 2 steps)", "Ema(decay = 0.8, buffers = copy)")))
        elif kind == 3:
            self.callbacks.append("Swa(lr = 0.02, start = 0.4)")
        elif kind == 4:
            self.callbacks.append(f'FreezeUntil("{net}", epoch = 1)')
        elif kind == 5:
            self.callbacks.append(f'Unfreeze([("{net}", 1)])')
        if self.chance(0.1):
            self.callbacks.append("GradNorm(per = weight)")
        trainer = ["epochs = 2", f"seed = {self.seed}", f"log_every = {rng.choice((1, 1, 1, 2))}"]
        trainer += [f"accumulate = {rng.choice((2, 3))}"] if self.accumulates else []
        trainer += ["check_grads = true"] if self.chance(0.2) else []
        trainer += ["nan = skip", "nan_limit = 1000"] if self.leaves_out else []
        trainer += ["val_every = 3 steps"] if self.chance(0.2) else []
        again = sorted({rng.choice(AGAIN[block]) for block in self.nets.values() if self.chance(0.7)})
        topology = f"again{self.seed}" if again and self.chance(0.5) else ""
        if topology:
            self.lines.append(f"topology {topology} {{ devices = cpu; " + "; ".join(f"recompute at {block}" for block in again) + " }")
        self.lines += [f"experiment e{self.seed} {{", "  data = Points()", f"  model = M{self.seed}()",
                       *([f"  topology = {topology}"] if topology else []), f"  trainer {{ {', '.join(trainer)} }}",
                       *([f"  callbacks {{ {', '.join(self.callbacks)} }}"] if self.callbacks else []), "  loggers { Csv() }", "}"]
