#!/usr/bin/env python3
"""What `predict --write` leaves in .npy, .npz and .safetensors, as NumPy, safetensors and PyTorch read it, and tensors that they
write, as flags of `predict` read them. Skipped where one of them is not installed.

LTRC and LTR_SOURCE say which compiler and sources, if not those of this tree.
"""
import json
import pathlib
import sys

try:
    import numpy
    import torch
    from safetensors.numpy import save_file
    from safetensors.torch import load_file
except ImportError:
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run/support"))
from harness import build, check, finish, run, scratch

PROGRAM = """ltr 1

data Points() {
  batch[B] { x: float[B, 2] }
  fn point(s: {i: int}) -> {x: float[2]} = (x = full(2, 0.5 * s.i))
  train   = synthetic(5, point) |> shuffle(1) |> collate(3)
  predict = synthetic(5, point) |> collate(2)
}
data Unread() {
  batch[B] { x: float[B, 2] }
  fn point(s: {i: int}) -> {x: float[2]} = (x = full(2, 0.5 * s.i))
  train = synthetic(3, point) |> collate(3)
}

model Several() {
  out = Linear(2, 2)
  optimizer opt = SGD(out.weights, lr = 0.1)
  step train[B](x: float[B, 2]) { minimize mean(out(x)) }
  step predict[B](x: float[B, 2]) -> {twice: float[B, 2], grid: f64[B, 2, 3], short: bf16[B, 2], place: i64[B], is_far: bool[B]} =
    (twice = 2.0 * x, grid = full(x.shape[0], 2, 3, 0.25).to(f64), short = x.to(bf16), place = full(x.shape[0], 7), is_far = x.sum(1) > 1.5)
}
model One() {
  out = Linear(2, 2)
  optimizer opt = SGD(out.weights, lr = 0.1)
  step train[B](x: float[B, 2]) { minimize mean(out(x)) }
  step predict[B](x: float[B, 2]) -> float[B, 2] = x + 1.0
}
experiment several { data = Points(), model = Several(), trainer { epochs = 1 } }
experiment one { data = Points(), model = One(), trainer { epochs = 1 } }
experiment unread { data = Unread(), model = One(), trainer { epochs = 1 } }
"""
X = torch.arange(5).unsqueeze(1).expand(5, 2) * 0.5
WANTED = {"twice": 2 * X, "grid": torch.full((5, 2, 3), 0.25, dtype=torch.float64), "short": X.to(torch.bfloat16),
          "place": torch.full((5,), 7), "is_far": X.sum(1) > 1.5}


def same(found, wanted):
    """Whether tensors or arrays are equal, of one type and shape."""
    return found.dtype == wanted.dtype and found.shape == wanted.shape and (found == wanted).all()


def in_numpy(tensor):
    """The tensor as NumPy has it, which knows no bfloat16."""
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "files.ltr").write_text(PROGRAM)
    program = build(folder / "files.ltr", folder)

    def predict(experiment, file, *more):
        return run(program, "predict", experiment, "--weights", "new", "--write", file, *more, cwd=folder)

    result = predict("several", "all.npz")
    found = dict(numpy.load(folder / "all.npz")) if result.returncode == 0 else {}
    check("an .npz has each output under its name, as NumPy reads it",
          list(found) == list(WANTED) and all(same(found[name], in_numpy(one)) for name, one in WANTED.items()), result.text)
    before = (folder / "all.npz").read_bytes() if found else b""
    again = predict("several", "all.npz")
    check("equal predictions are equal bytes, and nothing else is left", again.returncode == 0 and (folder / "all.npz").read_bytes() == before
          and not list(folder.glob("*.part")), again.text)
    result = predict("several", "all.safetensors")
    found = load_file(folder / "all.safetensors") if result.returncode == 0 else {}
    check("a .safetensors has them, too, of their own types",
          set(found) == set(WANTED) and all(same(found[name], one) for name, one in WANTED.items()), result.text)
    result = predict("several", "all.npy")
    check("several outputs are several .npy", result.returncode == 0
          and all(same(numpy.load(folder / f"all.{name}.npy"), in_numpy(one)) for name, one in WANTED.items()), result.text)
    for ending, read in ((".npz", lambda path: numpy.load(path)["prediction"]), (".npy", numpy.load),
                         (".safetensors", lambda path: load_file(path)["prediction"].numpy())):
        result = predict("one", f"one{ending}")
        check(f"one output, {ending}", result.returncode == 0 and same(read(folder / f"one{ending}"), (X + 1).numpy()), result.text)
    result = predict("one", "missing/one.npz")
    check("a folder that is not there is named", result.returncode == 1 and "missing/one.npz" in result.text, result.text)
    result = predict("one", "one.npx")
    check("another ending is refused with those that there are", result.returncode == 2
          and ".jsonl, .csv, .npy, .npz, .safetensors, a folder/ or - are written" in result.text, result.text)

    def given(file, tensors):
        save_file(tensors, folder / file)
        result = predict("unread", "-", "--x", f"@{file}")
        rows = [json.loads(line)["prediction"] for line in result.stdout.splitlines()] if result.returncode == 0 else None
        return rows, result

    rows, result = given("alone.safetensors", {"anything": numpy.array([[1, 2], [3, 4]], numpy.float64)})
    check("the only tensor of a file is the parameter", rows == [[2, 3], [4, 5]], result.text)
    rows, result = given("named.safetensors", {"x": numpy.array([[5, 6]], numpy.float32), "y": numpy.zeros(3, numpy.float32)})
    check("of several the one of its name", rows == [[6, 7]], result.text)
    rows, result = given("others.safetensors", {"a": numpy.zeros((1, 2), numpy.float32), "b": numpy.zeros(3, numpy.float32)})
    check("none of its name is refused with those that there are", result.returncode == 2 and "which has no tensor x, but a, b" in result.text,
          result.text)
    rows, result = given("sizes.safetensors", {"x": numpy.zeros((1, 3), numpy.float32)})
    check("a tensor of other sizes is refused", result.returncode == 2 and "[1, 3]" in result.text, result.text)
    (folder / "cut.safetensors").write_bytes((folder / "alone.safetensors").read_bytes()[:-4])
    result = predict("unread", "-", "--x", "@cut.safetensors")
    check("a file that was cut off is refused", result.returncode == 3 and "cut.safetensors" in result.text, result.text)
finish()
