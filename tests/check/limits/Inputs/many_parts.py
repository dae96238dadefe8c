"""A right program whose model has so many layers, each of a block of its own."""
import sys

count = int(sys.argv[1])
print("ltr 1\n")
for i in range(count):
    print(f"block B{i}(D: int) {{\n  fc = Linear(D, D)\n  fn forward[B](x: float[B, D]) -> float[B, D] = fc(x)\n}}")
print("block Net() {")
for i in range(count):
    print(f"  l{i} = B{i}(4)")
print("  fn forward[B](x: float[B, 4]) -> float[B, 4] {\n    h0 = x")
for i in range(count):
    print(f"    h{i + 1} = l{i}(h{i})")
print(f"    return h{count}\n  }}\n}}\nmodel M() {{\n  net = Net()\n  optimizer opt = SGD(net.weights)")
print("  step train[B](x: float[B, 4]) { minimize mse(net(x), x) }\n}")
