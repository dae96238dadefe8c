#!/usr/bin/env python3
"""Records what torch.optim does, for runtime/optim/parity_test.cpp: writes optim.json beside itself.

    python record_optim.py        needs torch 2.11

The problem of `rules`: weights a [3, 4] and b [5] in f64, a[i] = sin(i), b[i] = cos(i) over flat places i; the gradient of a
weight w at step t (from 0) is w / 2 + cos(0.1 t + 0.3 i).

Those of `lbfgs`, which asks for the loss itself, are written out below: least squares, an MLP and the valley of Rosenbrock.
"""
import json
import pathlib

import torch

STEPS = 200
RULES = [
    ("SGD", {"lr": 0.05}), ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    ("Adam", {"lr": 0.01}), ("Adam", {"lr": 0.01, "betas": [0.5, 0.99], "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "amsgrad": True}), ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.01, "weight_decay": 0.2, "amsgrad": True, "maximize": True}),
    ("NAdam", {"lr": 0.01}), ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled": True}),
    ("RAdam", {"lr": 0.01}), ("RAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled": True}),
    ("Adamax", {"lr": 0.01}), ("Adamax", {"lr": 0.01, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.05}), ("Adagrad", {"lr": 0.05, "lr_decay": 0.01, "weight_decay": 0.1, "initial": 0.3}),
    ("Adadelta", {"lr": 1.0}), ("Adadelta", {"lr": 0.5, "rho": 0.95, "eps": 1e-7, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01}), ("RMSprop", {"lr": 0.01, "momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("Adafactor", {"lr": 0.01}), ("Adafactor", {"lr": 0.05, "beta2_decay": -0.5, "d": 1.5, "weight_decay": 0.1}),
    ("Muon", {"lr": 0.01}), ("Muon", {"lr": 0.01, "momentum": 0.8, "nesterov": False, "weight_decay": 0.0}),
    ("Rprop", {"lr": 0.01}), ("Rprop", {"lr": 0.01, "etas": [0.4, 1.3], "step_sizes": [1e-5, 1.0]}),
]
PYTORCH_NAMES = {"decoupled": "decoupled_weight_decay", "initial": "initial_accumulator_value"}


def start():
    return [torch.sin(torch.arange(12, dtype=torch.float64)).reshape(3, 4), torch.cos(torch.arange(5, dtype=torch.float64))]


def gradient(w, t):
    return w / 2 + torch.cos(0.1 * t + 0.3 * torch.arange(w.numel(), dtype=torch.float64)).reshape(w.shape)


def run_rule(name, arguments):
    # Muon moves matrices alone.
    weights = [torch.nn.Parameter(w) for w in start() if name != "Muon" or w.dim() == 2]
    named = {PYTORCH_NAMES.get(k, k): tuple(v) if isinstance(v, list) else v for k, v in arguments.items()}
    optimizer = getattr(torch.optim, name)(weights, **named)
    for t in range(STEPS):
        for w in weights:
            w.grad = gradient(w.detach(), t)
        optimizer.step()
    return [w.detach().flatten().tolist() for w in weights]


def wave(*shape, dtype, scale=1.0, speed=0.37):
    count = 1
    for size in shape:
        count *= size
    return (scale * torch.sin(speed * torch.arange(count, dtype=torch.float64))).reshape(shape).to(dtype)


def squares(dtype):
    a, b = wave(20, 6, dtype=dtype, speed=1.7), wave(20, dtype=dtype, speed=0.9)
    return [torch.zeros(6, dtype=dtype)], lambda w: ((a @ w - b) ** 2).mean()


def mlp(dtype):
    x, y = wave(16, 3, dtype=dtype, speed=1.3), wave(16, 1, dtype=dtype, speed=0.7)
    start = [wave(3, 8, dtype=dtype, scale=0.5), wave(8, dtype=dtype, scale=0.1), wave(8, 1, dtype=dtype, scale=0.5, speed=2.1)]
    return start, lambda w, b, v: ((torch.tanh(x @ w + b) @ v - y) ** 2).mean()


def rosenbrock(dtype):
    return [torch.tensor([-1.5, 2.0], dtype=dtype)], lambda w: (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2


LBFGS = [
    (squares, "f64", {}), (squares, "f64", {"line_search": "strong_wolfe"}), (squares, "f64", {"max_iter": 4, "history": 2, "lr": 0.5}),
    (squares, "f32", {"max_iter": 1}), (squares, "f32", {"max_iter": 2, "line_search": "strong_wolfe"}),
    (mlp, "f64", {"max_iter": 3}), (mlp, "f64", {"max_iter": 3, "line_search": "strong_wolfe"}),
    (mlp, "f64", {"max_iter": 5, "max_eval": 3, "history": 3, "lr": 0.7, "line_search": "strong_wolfe"}),
    (mlp, "f64", {"max_iter": 5, "tolerance_grad": 0.02, "tolerance_change": 1e-4}),
    (mlp, "f32", {"max_iter": 2, "lr": 0.1}), (mlp, "f32", {"max_iter": 1, "line_search": "strong_wolfe"}),
    (rosenbrock, "f64", {"lr": 0.1, "max_iter": 10}), (rosenbrock, "f64", {"line_search": "strong_wolfe", "max_iter": 3}),
    (rosenbrock, "f64", {"line_search": "strong_wolfe"}),
]


def run_lbfgs(problem, element, arguments):
    start, loss = problem({"f64": torch.float64, "f32": torch.float32}[element])
    weights = [torch.nn.Parameter(w) for w in start]
    named = {{"history": "history_size", "line_search": "line_search_fn"}.get(k, k): v for k, v in arguments.items()}
    optimizer = torch.optim.LBFGS(weights, **named)
    evaluations = 0

    def closure():
        nonlocal evaluations
        evaluations += 1
        optimizer.zero_grad()
        value = loss(*weights)
        value.backward()
        return value

    losses, evaluated = [], []
    for _ in range(20):
        losses.append(optimizer.step(closure).item())
        evaluated.append(evaluations)
    return {"problem": problem.__name__, "element": element, "arguments": arguments, "losses": losses, "evaluations": evaluated,
            "weights": [w.detach().flatten().tolist() for w in weights]}


def rates(make, steps=120, lr=0.1):
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=lr, momentum=0.9)
    schedule = make(optimizer)
    values, momenta = [], []
    for _ in range(steps):
        values.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        schedule.step()
    return values, momenta


def schedules():
    s = torch.optim.lr_scheduler
    rows = [
        ("cosine(total = 120 steps)", lambda o: s.CosineAnnealingLR(o, 120)),
        ("cosine(final = 0.1, total = 120 steps)", lambda o: s.CosineAnnealingLR(o, 120, eta_min=0.01)),
        ("step(every = 30 steps, gamma = 0.5)", lambda o: s.StepLR(o, 30, 0.5)),
        ("multistep(at = [20, 50, 90], gamma = 0.3)", lambda o: s.MultiStepLR(o, [20, 50, 90], 0.3)),
        ("exponential(gamma = 0.9, every = 1 steps)", lambda o: s.ExponentialLR(o, 0.9)),
        ("linear(from = 1, to = 0.1, total = 100 steps)", lambda o: s.LinearLR(o, 1.0, 0.1, 100)),
        ("polynomial(power = 2, total = 100 steps)", lambda o: s.PolynomialLR(o, 100, 2.0)),
        ("cosine_restarts(first = 20 steps, mult = 2)", lambda o: s.CosineAnnealingWarmRestarts(o, 20, 2)),
        ("one_cycle(total = 120 steps)", lambda o: s.OneCycleLR(o, 0.1, 120)),
        ("one_cycle(total = 120 steps, three_phase, linear)",
         lambda o: s.OneCycleLR(o, 0.1, 120, anneal_strategy="linear", three_phase=True)),
        ("cyclic(low = 0.01, high = 0.1, up = 20 steps)",
         lambda o: s.CyclicLR(o, 0.01, 0.1, 20, cycle_momentum=False)),
        ("cyclic(low = 0.01, high = 0.1, up = 20 steps, down = 30 steps, triangular2)",
         lambda o: s.CyclicLR(o, 0.01, 0.1, 20, 30, mode="triangular2", cycle_momentum=False)),
        ("cyclic(low = 0.01, high = 0.1, up = 20 steps, exp_range)",
         lambda o: s.CyclicLR(o, 0.01, 0.1, 20, mode="exp_range", gamma=0.99, cycle_momentum=False)),
    ]
    out = []
    for name, make in rows:
        values, momenta = rates(make)
        out.append({"name": name, "rates": values, "momenta": momenta})
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    plateau = s.ReduceLROnPlateau(optimizer, factor=0.5, patience=2, cooldown=1, min_lr=0.005)
    series = [abs(((7 * i) % 11) - 5) + 10.0 / (i + 1) for i in range(60)]
    values = []
    for value in series:
        plateau.step(value)
        values.append(optimizer.param_groups[0]["lr"])
    out.append({"name": "plateau", "series": series, "rates": values})
    return out


if __name__ == "__main__":
    result = {"torch": torch.__version__, "steps": STEPS,
              "rules": [{"name": n, "arguments": a, "weights": run_rule(n, a)} for n, a in RULES],
              "lbfgs": [run_lbfgs(*row) for row in LBFGS],
              "schedules": schedules()}
    path = pathlib.Path(__file__).with_name("optim.json")
    path.write_text(json.dumps(result, indent=1) + "\n")
