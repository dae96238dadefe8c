#!/usr/bin/env python3
"""`FreezeUntil` and `Unfreeze` against PyTorch: two groups of parameters for each of ours, one with its share of the rate, and none that is
held. Every loss of 6 epochs, in f64 within 1e-10 and in f32 within 1e-5 of the largest, on both back ends.

Needs torch and safetensors (exit 77 without); LTRC and LTR_SOURCE say which compiler and sources.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from twin import TOPOLOGY, TRAIN, columns, far, fit, points, run_of, tensors, torch, weights  # noqa: E402

COUNT, SIZE, EPOCHS = 48, 8, 6
STEPS = COUNT // SIZE

PROGRAM = f"""ltr 1
{points(COUNT, SIZE)}
callback Begin() {{ on train_start {{ save("begin") }} }}
model Net() {{
  net = [Linear(3, 16), BatchNorm1d(16), tanh, Linear(16, 1)]
  optimizer opt = RULE {{
    schedule = cosine(total = {STEPS * EPOCHS} steps)
    group "*.bias" {{ weight_decay = 0 }}
  }}
  {TRAIN}
}}
{TOPOLOGY}
experiment curve {{
  data = Points(), model = Net(), topology = wide
  trainer {{ epochs = {EPOCHS}, log_every = 1 }}
  callbacks {{ Begin(), HOLDS }}
  loggers {{ Csv() }}
}}
"""

RULES = {
    "AdamW(net.weights, lr = 0.02)": lambda groups: torch.optim.AdamW(groups, lr=0.02),
    "SGD(net.weights, lr = 0.05, momentum = 0.9, weight_decay = 1e-3)": lambda groups: torch.optim.SGD(groups, lr=0.05, momentum=0.9, weight_decay=1e-3),
}
# What holds which weights, what share of the rate they have in an epoch (none: they are held), and whether the norm rests in it.
HOLDS = {
    'FreezeUntil("net.0", epoch = 2, lr_ratio = 0.2, growth = 2.0)':
        (lambda name, epoch: (None if epoch < 2 else min(1.0, 0.2 * 2.0 ** (epoch - 2))) if name.startswith("net.0.") else 1.0, lambda epoch: False),
    'FreezeUntil("net", except = "net.3", epoch = 3, lr_ratio = 0.1, growth = 3.0, train_norm = false)':
        (lambda name, epoch: 1.0 if name.startswith("net.3.") else None if epoch < 3 else min(1.0, 0.1 * 3.0 ** (epoch - 3)), lambda epoch: epoch < 3),
    'Unfreeze([("net.3.weight", 1), ("*.weight", 2)], lr_ratio = 0.5)':
        (lambda name, epoch: {"net.3.weight": None if epoch < 1 else 0.5, "net.0.weight": None if epoch < 2 else 0.5}.get(name, 1.0), lambda epoch: False),
}


def torch_curve(begin, dtype, make, share, rests):
    net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.BatchNorm1d(16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).to(dtype)
    net.load_state_dict({name.removeprefix("net."): value for name, value in begin.items()})
    trained = {f"net.{name}": weight for name, weight in net.named_parameters()}
    # One group for each weight: its own rate and weight decay.
    optimizer = make([{"params": [weight], **({"weight_decay": 0.0} if name.endswith("bias") else {})} for name, weight in trained.items()])
    base = [group["lr"] for group in optimizer.param_groups]
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS * EPOCHS)
    x, y = tensors(COUNT, dtype)
    losses = []
    for update in range(STEPS * EPOCHS):
        epoch, at = update // STEPS, update * SIZE % COUNT
        net[1].train(not rests(epoch))
        for weight, name in zip(trained.values(), trained):
            weight.requires_grad_(share(name, epoch) is not None)
        loss = ((net(x[at:at + SIZE]) - y[at:at + SIZE]) ** 2).mean()
        loss.backward()
        of_schedule = [group["lr"] for group in optimizer.param_groups]
        for group, name in zip(optimizer.param_groups, trained):
            group["lr"] *= share(name, epoch) or 0.0
        optimizer.step()
        for group, lr in zip(optimizer.param_groups, of_schedule):
            group["lr"] = lr
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert base == [group["initial_lr"] for group in optimizer.param_groups]
    return losses


failed = False
with tempfile.TemporaryDirectory(prefix="ltr-") as place:
    folder = pathlib.Path(place)
    for number, (rule, make) in enumerate(RULES.items()):
        for which, (holds, (share, rests)) in enumerate(HOLDS.items()):
            name = f"curve{number}{which}.ltr"
            (folder / name).write_text(PROGRAM.replace("RULE", rule).replace("HOLDS", holds))
            for dtype, tolerance, options in ((torch.float64, 1e-10, ()),
                                              (torch.float32, 1e-5, ("--set", "topology.precision=f32", "--backend", "native")),
                                              (torch.float32, 1e-5, ("--set", "topology.precision=f32", "--backend", "torch"))):
                out = f"{number}{which}{options[-1:]}"
                fit(folder / name, "--out", out, *options)
                run = run_of(folder, out)
                losses = columns(run, "train/loss")["train/loss"]
                off = far(losses, torch_curve(weights(run, "begin"), dtype, make, share, rests))
                print(f"{holds}, {rule.split('(')[0]}, {dtype} {options[-1:]}: {len(losses)} losses, largest difference {off:.1e}")
                failed = failed or not off <= tolerance
sys.exit(1 if failed else 0)
