"""The small program that tests of whole runs share: points on a line, a network that finds it."""

DATA = """data Points(count: int = 16) {
  batch[B] { x: float[B, 3], y: float[B, 1] }
  fn point(s: {i: int}) -> {x: float[3], y: float[1]} = (x = full(3, 0.1 * s.i), y = full(1, 0.2 * s.i))
  train = synthetic(count, point) |> shuffle(1) |> collate(4)
  val = synthetic(8, point) |> collate(4)
  test = synthetic(8, point) |> collate(4)
}
"""


def model(net="Linear(3, 1)", optimizer="opt = SGD(net.weights, lr = 0.05)", name="Net", steps=(), members="", more=""):
    """A model that logs its loss in the train step and those of `steps`; `members` it has beside its network, and `more` stands
    at the end of its train step."""
    lines = "".join(f"  step {step}[B](x: float[B, 3], y: float[B, 1]) {{ log loss = mean((net(x) - y) ** 2) }}\n" for step in steps)
    return f"""model {name}() {{
  net = {net}
{members}  optimizer {optimizer}
  step train[B](x: float[B, 3], y: float[B, 1]) {{
    loss = mean((net(x) - y) ** 2)
    minimize loss
    log loss
{more}  }}
{lines}}}
"""


def source(*parts):
    """The text of a program of these declarations, on the data of all."""
    return "".join(["ltr 1\n", DATA, *parts])


def line_of(text, part):
    """The number of the line where `part` stands in `text`."""
    return 1 + text[:text.index(part)].count("\n")
