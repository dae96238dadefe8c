#!/usr/bin/env python3
"""`Swa` against torch.optim.swa_utils: a loop with AveragedModel, SWALR and update_bn. Every loss and rate, and in the end the averages and
the running values of their batch norms: in f64 within 1e-10, in f32 within 1e-5 of the largest, five times that for the averages, on both back ends.

Needs torch and safetensors (exit 77 without); LTRC and LTR_SOURCE say which compiler and sources.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from twin import TOPOLOGY, TRAIN, columns, far, fit, points, run_of, tensors, torch, weights  # noqa: E402

from torch.optim.swa_utils import SWALR, AveragedModel, update_bn  # noqa: E402

COUNT, SIZE, EPOCHS, START, ANNEAL = 48, 8, 10, 6, 3
STEPS = COUNT // SIZE

PROGRAM = f"""ltr 1
{points(COUNT, SIZE)}
callback Begin() {{ on train_start {{ save("begin") }} }}
model Net() {{
  net = [Linear(3, 16), BatchNorm1d(16), tanh, Linear(16, 1)]
  optimizer opt = SGD(net.weights, lr = 0.1, momentum = 0.9) {{
    schedule = cosine(total = {STEPS * EPOCHS} steps)
    group "*.bias" {{ lr = 0.02 }}
  }}
  {TRAIN}
}}
{TOPOLOGY}
experiment curve {{
  data = Points(), model = Net(), topology = wide
  trainer {{ epochs = {EPOCHS}, log_every = 1 }}
  callbacks {{ Begin(), LrMonitor(), Swa(lr = 0.03, start = {START / EPOCHS}, anneal = {ANNEAL} epochs, strategy = STRATEGY) }}
  loggers {{ Csv() }}
}}
"""


def torch_run(begin, dtype, strategy):
    net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.BatchNorm1d(16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).to(dtype)
    net.load_state_dict({name.removeprefix("net."): value for name, value in begin.items()})
    biases = [weight for name, weight in net.named_parameters() if name.endswith("bias")]
    rest = [weight for name, weight in net.named_parameters() if not name.endswith("bias")]
    optimizer = torch.optim.SGD([{"params": rest}, {"params": biases, "lr": 0.02}], lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS * EPOCHS)
    averaged, swa = AveragedModel(net), None
    x, y = tensors(COUNT, dtype)
    losses, rates = [], []
    for epoch in range(EPOCHS):
        if epoch == START:
            swa = SWALR(optimizer, swa_lr=0.03, anneal_epochs=ANNEAL, anneal_strategy=strategy)
        for at in range(0, COUNT, SIZE):
            loss = ((net(x[at:at + SIZE]) - y[at:at + SIZE]) ** 2).mean()
            loss.backward()
            rates.append([group["lr"] for group in optimizer.param_groups])
            optimizer.step()
            optimizer.zero_grad()
            if swa is None:
                schedule.step()
            losses.append(loss.item())
        if swa is not None:
            averaged.update_parameters(net)
            swa.step()
    update_bn(x.split(SIZE), averaged)
    return losses, rates, {f"net.{name}": value for name, value in averaged.module.state_dict().items()}


failed = False
with tempfile.TemporaryDirectory(prefix="ltr-") as place:
    folder = pathlib.Path(place)
    for strategy, of_torch in (("cos", "cos"), ("linear", "linear")):
        (folder / f"{strategy}.ltr").write_text(PROGRAM.replace("STRATEGY", strategy))
        for dtype, tolerance, options in ((torch.float64, 1e-10, ()), (torch.float32, 1e-5, ("--set", "topology.precision=f32", "--backend", "native")),
                                          (torch.float32, 1e-5, ("--set", "topology.precision=f32", "--backend", "torch"))):
            out = f"{strategy}{options[-1:]}"
            fit(folder / f"{strategy}.ltr", "--out", out, *options)
            run = run_of(folder, out)
            found, averages = columns(run, "train/loss", "lr/"), weights(run, file="averages.safetensors")
            wanted, wanted_rates, wanted_averages = torch_run(weights(run, "begin"), dtype, of_torch)
            losses = found["train/loss"]
            off = far(losses, wanted)
            off_rate = max(far(found[name], [row[at] for row in wanted_rates]) for at, name in enumerate(("lr/opt/rest", "lr/opt/*.bias")))
            off_mean = max(float((averages[name].double() - value.double()).abs().max() / value.double().abs().max().clamp(min=1e-12)) for name, value in wanted_averages.items())
            print(f"{strategy}, {dtype} {options[-1:]}: {len(losses)} losses within {off:.1e}, rates within {off_rate:.1e}, averages within {off_mean:.1e}")
            failed = failed or not (off <= tolerance and off_rate <= 1e-9 and off_mean <= 5 * tolerance and averages.keys() == wanted_averages.keys())
sys.exit(1 if failed else 0)
