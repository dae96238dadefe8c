"""What all random steps share: data without random numbers, and small networks from float[B, 4] to float[B, 3]."""

HEAD = """ltr 1

data Points() {
  batch[B] { x: float[B, 4], y: i64[B] }
  fn point(s: {i: int}) -> {x: float[4], y: i64} = (x = sin(full(4, 0.37 * s.i) + [0.0, 0.7, 1.4, 2.1]), y = s.i % 3)
  train = synthetic(76, point) |> collate(16)
  val   = synthetic(20, point) |> collate(8)
}
block Mlp() {
  a = Linear(4, 6)
  b = Linear(6, 3)
  fn forward[B](x: float[B, 4]) -> float[B, 3] = x |> a |> tanh |> b
}
block Normed() {
  a = Linear(4, 6)
  norm = BatchNorm1d(6)
  b = Linear(6, 3)
  fn forward[B](x: float[B, 4]) -> float[B, 3] = x |> a |> norm |> tanh |> b
}
block Convolved() {
  c = Conv1d(1, 2, 3, padding = 1)
  norm = BatchNorm1d(2)
  head = Linear(8, 3)
  fn forward[B](x: float[B, 4]) -> float[B, 3] = (x.unsqueeze(1) |> c |> norm |> relu).flatten(1) |> head
}
block Recurrent() {
  r = LSTM(1, 3)
  fn forward[B](x: float[B, 4]) -> float[B, 3] {
    y, _state = r(x.unsqueeze(2))
    return y[:, 3]
  }
}
block Tied() {
  table = Embedding(7, 3)
  up = Linear(3, 7, bias = false, weight = table.weight)
  down = Linear(7, 3)
  fn forward[B](x: float[B, 4]) -> float[B, 3] = table((abs(stop_grad(x)) * 5.0).floor().to(i64) % 7).mean(1) |> up |> tanh |> down
}
block Counting() {
  a = Linear(4, 3)
  weight gain: float[3] = ones(3)
  buffer seen: float[] = 0.0
  buffer middle: float[3] = zeros(3)
  fn forward[B](x: float[B, 4]) -> float[B, 3] {
    before = middle
    y = x |> a
    middle = 0.9 * middle + 0.1 * stop_grad(y).mean(0)
    seen = seen + 1
    return (y - before) * gain / (1.0 + 0.01 * seen) + 0.1 * middle
  }
}
block Painted() {
  weight picture: float[2, 1, 5, 5] = ones(2, 1, 5, 5) * 0.3
  c = Conv2d(1, 3, 3)
  a = Linear(4, 3)
  fn forward[B](x: float[B, 4]) -> float[B, 3] = (x |> a) + tanh(picture |> c).mean([2, 3]).mean(0)
}
block Wide() {
  c = Conv2d(64, 64, 2)
  a = Linear(64, 3)
  fn forward[B](x: float[B, 4]) -> float[B, 3] = tanh(tanh(x).reshape(B, 1, 2, 2).expand(B, 64, 2, 2) |> c).flatten(1) |> a
}
block Layer() {
  a = Linear(6, 6)
  norm = BatchNorm1d(6)
  fn forward[B](x: float[B, 6]) -> float[B, 6] = x + (x |> a |> norm |> tanh)
}
block Plain() {
  a = Linear(6, 6)
  norm = LayerNorm(6)
  fn forward[B](x: float[B, 6]) -> float[B, 6] = x + (x |> norm |> a |> tanh)
}
block Deep() {
  into = Linear(4, 6)
  body = [Layer(), Plain()]
  head = Linear(6, 3)
  fn forward[B](x: float[B, 4]) -> float[B, 3] = softmax(x |> into |> body, 1) |> head
}
"""

BLOCKS = ("Mlp", "Mlp", "Normed", "Convolved", "Recurrent", "Tied", "Counting", "Counting", "Painted", "Wide", "Wide", "Deep")
# Of each block a member whose weights another optimizer may train.
PARTS = {"Mlp": ("a", "b"), "Normed": ("a", "norm", "b"), "Convolved": ("c", "norm", "head"), "Deep": ("into", "body", "head")}
# Of each block the blocks whose values a topology may compute again.
AGAIN = {"Mlp": ("Mlp",), "Normed": ("Normed", "BatchNorm1d"), "Convolved": ("Convolved",), "Recurrent": ("Recurrent", "LSTM"), "Tied": ("Tied",),
         "Counting": ("Counting",), "Painted": ("Painted",), "Wide": ("Wide",), "Deep": ("Deep", "Layer", "Plain")}
