"""What runs logged, side by side."""
import csv
import math

from harness import newest


def rows(folder):
    """The metrics of the newest run below `folder`."""
    with open(newest(folder) / "metrics.csv") as file:
        return [{name: float(value) for name, value in row.items() if value and "/" in name} for row in csv.DictReader(file)]


def farthest(ours, theirs):
    """The largest relative difference of two runs that logged the same; infinite if they did not."""
    if [row.keys() for row in ours] != [row.keys() for row in theirs]:
        return float("inf")
    return max((apart(a[name], b[name]) for a, b in zip(ours, theirs) for name in a
                if "samples_per" not in name and "tokens_per" not in name), default=0.0)


def apart(a, b):
    """The relative difference; infinite if only one of them is a number."""
    if math.isfinite(a) and math.isfinite(b):
        return abs(a - b) / max(abs(b), 1e-3)
    return 0.0 if repr(a) == repr(b) else math.inf
