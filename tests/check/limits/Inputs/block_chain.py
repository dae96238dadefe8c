"""A program of so many blocks, each of which holds and calls the one before."""
import sys

print("ltr 1\n\nblock B0() {\n  fc = Linear(4, 4)\n  fn forward[B](x: float[B, 4]) -> float[B, 4] = fc(x)\n}")
for i in range(1, int(sys.argv[1])):
    print(f"block B{i}() {{\n  l = B{i - 1}()\n  fn forward[B](x: float[B, 4]) -> float[B, 4] = l(x)\n}}")
