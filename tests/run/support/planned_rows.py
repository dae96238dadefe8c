"""A program that tests of plans share."""

# Functions of rows beside others: what one of them sets aside for the next ones moves nothing that another one looks at.
ROWS = """ltr 1
data Points() {
  batch[B] { x: float[B, 4], y: i64[B], t: float[B] }
  fn point(row: {i: int}) -> {x: float[4], y: i64, t: float} =
    (x = stack([sin(0.3 * row.i), cos(0.7 * row.i), sin(1.1 * row.i), 0.5]), y = row.i % 3, t = 0.1 * row.i)
  train = range(36) |> map(point) |> shuffle(0) |> collate(8)
}
block Mlp(inputs: int, hidden: int, outputs: int) {
  fc1 = Linear(inputs, hidden)
  norm = LayerNorm(hidden)
  drop = Dropout(0.1)
  fc2 = Linear(hidden, outputs)
  fn forward[B](x: float[B, inputs]) -> float[B, outputs] = x |> fc1 |> norm |> relu |> drop |> fc2
}
model M() {
  net = Mlp(4, 16, 3)
  reg = Linear(4, 1)
  acc = Accuracy(3)
  mae = MeanAbsoluteError()
  optimizer opt = AdamW([net.weights, reg.weights], lr = 0.01, weight_decay = 0.01)
  step train[B](x: float[B, 4], y: i64[B], t: float[B]) {
    loss = cross_entropy(net(x), y) + 0.1 * mse(reg(x).squeeze(1), t)
    minimize loss
    log loss
  }
}
experiment rows {
  data = Points()
  model = M()
  trainer { epochs = 2, log_every = 1 }
  loggers { Csv() }
}
"""
