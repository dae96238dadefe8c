"""Programs that several tests of runs share."""

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
# A model with a list of blocks in it.
LISTS = """ltr 1

data Points() {
  batch[B] { x: float[B, 4] }
  fn point(s: {i: int}) -> {x: float[4]} = (x = full(4, 1.0 * s.i))
  train = synthetic(8, point) |> collate(4)
}

block Residual() {
  fc = Linear(4, 4)
  norm = BatchNorm1d(4)
  fn forward[B](x: float[B, 4]) -> float[B, 4] = x + norm(fc(x))
}

model Deep() {
  stem = Linear(4, 4)
  body = [Residual(), Residual(), Residual()]
  optimizer opt = SGD([stem.weights, body.weights], lr = 0.1)
  step train[B](x: float[B, 4]) { minimize mean(body(stem(x)) ** 2) }
}

experiment lists { data = Points(), model = Deep(), trainer { epochs = 1 } }
"""
