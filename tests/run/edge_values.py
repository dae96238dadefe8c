#!/usr/bin/env python3
"""What is not finite, what is certain, large and small numbers: a planned step gives what one that runs op by op gives, and PyTorch.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, run, scratch

VALUES = ["zero / zero", "1.0 / zero", "-1.0 / zero", "zero", "-zero", "1.0", "-1.0", "0.5", "-2.5", "2.5", "6.0", "1e-30", "88.5", "89.0", "200.0", "-88.0", "-200.0", "3e38", "-3e38"]
EACH = """x.to(bool).to(float)|(x > 0.0).to(float)|(x == x).to(float)|(not x.to(bool)).to(float)|where(x.to(bool), 1.0, 2.0)
exp(x)|expm1(x)|log(abs(x))|log1p(x)|sqrt(x)|rsqrt(x)|square(x)|abs(x)|sign(x)|floor(x)|ceil(x)|round(x)|trunc(x)|relu(x)|relu6(x)|leaky_relu(x, 0.1)|elu(x)|selu(x)|silu(x)|mish(x)|gelu(x)|gelu(x, tanh)|sinh(x)|cosh(x)
softplus(x)|sigmoid(x)|tanh(x)|hardtanh(x)|hardsigmoid(x)|hardshrink(x)|softshrink(x)|threshold(x, 0.5, 9.0)|clamp(x, -1.0, 2.0)|nan_to_num(x)
isnan(x).to(float)|isinf(x).to(float)|isfinite(x).to(float)|maximum(x, x.flip(0))|minimum(x, x.flip(0))|maximum(x, 2.0)|x % 2.0|1.0 / x|x * 0.0|x ** 2|x ** 3|x ** -1|x ** 0.5|x ** -0.5|asin(x)|acos(x)|bucketize(x, [0.0, 1.0]).to(float)
logaddexp(x, x.flip(0))|atan2(x, x.flip(0))|masked_fill(x, x > 1.0, 5.0)|where(isnan(x), 1.0, x)|sort(x)[0]|sort(x)[1].to(float)
bce(sigmoid(x), (x > 0.0).to(float), reduction = none)|bce_with_logits(x, (x > 0.0).to(float), reduction = none)|smooth_l1(x, x.flip(0), reduction = none)|l1(x, x.flip(0), reduction = none)
sum(x)|mean(x)|max(x)|min(x)|prod(x)|median(x)|quantile(x, 0.3)|nansum(x)|nanmean(x)|argmax(x).to(float)|argmin(x).to(float)|any(x > 1.0).to(float)|all(x == x).to(float)|logsumexp(x, 0)
softmax(x[4 ..], 0)|log_softmax(x[4 ..], 0)|cumsum(x, 0)|cumprod(x, 0)|norm(x)|var(x)""".replace("\n", "|").split("|")
# What PyTorch 2.11 gives, where x[0] is nan and x[3] zero.
EXPECTED = {
    "atan2(stack([-x[3], x[3], -x[3], x[3]]), stack([-1.0 / x[3], -1.0 / x[3], -x[3], -x[3]]))": [-math.pi, math.pi, -math.pi, math.pi],
    "stack([-1.0 / x[3], 1.0 / x[3], x[3], 4.0 + x[3]]) ** 0.5": [math.nan, math.inf, 0, 2],
    "stack([-1.0 / x[3], 1.0 / x[3], x[3], 4.0 + x[3]]) ** -0.5": [math.nan, 0, math.inf, 0.5],
    "bucketize(stack([x[0], 1.0 + x[3]]), [1.0, 3.0, 5.0]).to(float)": [3, 0],
    "searchsorted([1.0, 3.0, 5.0], stack([x[0], 1.0 + x[3]]), right = true).to(float)": [3, 1],
}
EACH += EXPECTED
NUMBERS = [math.nan, math.inf, -math.inf, *(float(one.replace("zero", "0")) for one in VALUES[3:])]
# With AVX-512 LibTorch has nan and 0 of what is so large that its square is infinite; a plan keeps to the formula.
BY_FORMULA = {"gelu(x)": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2}
PROGRAM = f"""ltr 1
data Ids() {{
  batch[B] {{ n: i64[B] }}
  train = range(1) |> shuffle(0) |> map(one => (n = one.i)) |> collate(1)
  predict = range(1) |> map(one => (n = one.i)) |> collate(1)
}}
fn input(zero: float[]) -> float[{len(VALUES)}] = stack([{", ".join(f"zero + {one}" if "zero" not in one else one for one in VALUES)}])
{"".join(f"fn of{i}(x: float[{len(VALUES)}]) -> float[1, ?] = ({one}).flatten().unsqueeze(0) as float[1, ?]{chr(10)}" for i, one in enumerate(EACH))}
model Net() {{
  buffer zero: float[] = zeros()
  weight scores: float[6] = stack([30.0, -30.0, 120.0, -120.0, 1.0, 0.0])
  optimizer opt = SGD(scores, lr = 1.0)
  step train[B](n: i64[B]) {{
    y = sigmoid(scores)
    minimize bce(y, [1.0, 0.0, 1.0, 0.0, 1.0, 0.5]) + bce(y, [0.0, 1.0, 1.0, 0.0, 1.0, 0.5]) / 10.0 +
      sum(bce(y, [0.0, 1.0, 0.0, 0.0, 1.0, 0.5], reduction = none)) + sum((scores ** 0).to(bool).to(float))
  }}
  step predict[B](n: i64[B]) -> {{scores: float[B, 6], {", ".join(f"of{i}: float[B, ?]" for i in range(len(EACH)))}}} {{
    x = input(zero)
    return (scores = scores.unsqueeze(0) as float[B, 6], {", ".join(f"of{i} = of{i}(x) as float[B, ?]" for i in range(len(EACH)))})
  }}
}}
# Their slopes are infinite, of which clipping leaves 1, as it does not of nan.
model Ends() {{
  weight sines: float[2] = stack([1.0, -1.0])
  weight cosines: float[2] = stack([1.0, -1.0])
  optimizer opt = SGD([sines, cosines], lr = 1.0) {{ clip_value = 1.0 }}
  step train[B](n: i64[B]) {{ minimize sum(asin(sines)) + sum(acos(cosines)) }}
  step predict[B](n: i64[B]) -> {{moved: float[B, 4]}} = (moved = cat([sines, cosines], 0).unsqueeze(0) as float[B, 4])
}}
experiment e {{ data = Ids(), model = Net(), trainer {{ epochs = 3 }} }}
experiment ends {{ data = Ids(), model = Ends(), trainer {{ epochs = 1 }} }}
"""


def is_same(one, other):
    one, other = (math.nan if x is None else float(x) for x in (one, other))
    return one == other or (math.isnan(one) and math.isnan(other)) or abs(one - other) <= 1e-5 * max(abs(one), 1e-3)


with scratch() as place:
    folder = pathlib.Path(place)
    source = folder / "edges.ltr"
    source.write_text(PROGRAM)
    program = build(source, folder)
    found = {}

    def predicted(experiment, backend):
        trained = fit(program, folder / backend, experiment, "--backend", backend)
        rows = folder / f"{experiment}-{backend}.jsonl"
        done = run(program, "predict", experiment, "--weights", "last", "--backend", backend, "--no-bar", "--threads", 1, "--out", folder / backend, "--write", rows)
        check(f"{backend} trains {experiment} and predicts", trained.returncode == 0 and done.returncode == 0, trained.text + done.text)
        return json.loads(rows.read_text())

    for backend in ("torch", "native"):
        found[backend] = predicted("e", backend)
        moved = predicted("ends", backend)["moved"]
        check(f"{backend}: slopes of angles at their ends are infinite", moved == [0, -2, 2, 0], moved)
    for name, expression in [("scores", "weights behind a bce that is certain"), *((f"of{i}", one) for i, one in enumerate(EACH))]:
        one, other = found["torch"][name], found["native"][name]
        if expression in BY_FORMULA:
            one = list(map(BY_FORMULA[expression], NUMBERS))
        check(expression, len(one) == len(other) and all(map(is_same, one, other)), f"op by op {one}\nplanned  {other}")
        if expression in EXPECTED:
            check(f"{expression}, as in PyTorch", all(map(is_same, one, EXPECTED[expression])), one)
    check("no weight is lost", all(math.isfinite(float(score)) for score in found["native"]["scores"]), found["native"]["scores"])
finish()
