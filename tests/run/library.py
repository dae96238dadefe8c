#!/usr/bin/env python3
"""What the library refuses only when it runs, and the precisions that the examples train in."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, LTRC, build, check, finish, fit, run, scratch

WIDTHS = """ltr 1

test "one output" {{
  metric = {0}()
  metric.update(randn(5, 1), randn(5, 1))
}}

test "three outputs for one" {{
  metric = {0}()
  metric.update(randn(5, 3), randn(5, 3))
}}
"""


def widths(folder):
    """A metric of one output does not read three as more samples."""
    for metric in ("R2Score", "ExplainedVariance"):
        source = folder / f"{metric}.ltr"
        source.write_text(WIDTHS.format(metric))
        result = run(LTRC, "test", source)
        check(f"{metric} refuses another width",
              result.returncode != 0 and "1 passed, 1 failed" in result.text
              and "a tensor [5, 3] of 15 elements does not fit into [5, 1]" in result.text, result.text)


def precisions(folder):
    """Batches of `float` have the width that the program computes in: layers, a recurrent stack, images."""
    for name in ("iris", "forecast", "mnist"):
        program = build(EXAMPLES / f"{name}.ltr", folder)
        for precision in ("f64", "bf16", "bf16_pure"):
            result = fit(program, folder / "runs" / precision, "--set", f"topology.precision={precision}",
                         "--set", "trainer.steps=4")
            check(f"{name} trains in {precision}", result.returncode == 0, result.text)
    result = run(program, "predict", "--out", folder / "runs/bf16_pure", cwd=EXAMPLES)
    check("mnist predicts in bf16_pure", result.returncode == 0, result.text)


with scratch() as place:
    folder = pathlib.Path(place)
    widths(folder)
    precisions(folder)
finish()
