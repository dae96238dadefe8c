"""A program of so many experiments, topologies and types, each of which amends or holds the one before."""
import sys

print("ltr 1\n\ntopology t0 { devices = auto }\ntype T0 = int")
WHAT = {"topology": "topology t{} amends t{} {{ devices = auto }}", "type": "type T{} = list[T{}]",
        "experiment": "experiment e{} amends e{} {{ trainer {{ epochs = 2 }} }}"}[sys.argv[1]]
if sys.argv[1] == "experiment":
    print("""data D() {
  batch[B] { x: float[B, 2] }
  train = range(64) |> map(row => (x = randn(2))) |> shuffle(1) |> collate(16)
}
model N() {
  net = Linear(2, 1)
  optimizer opt = SGD(net.weights, lr = 0.1)
  step train[B](x: float[B, 2]) {
    loss = mean(net(x) ** 2)
    minimize loss
  }
}
experiment e0 {
  data = D()
  model = N()
  trainer { epochs = 1 }
}""")
for i in range(1, int(sys.argv[2])):
    print(WHAT.format(i, i - 1))
