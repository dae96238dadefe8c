#!/usr/bin/env python3
"""Random steps, planned and op by op: the same values of metrics.csv and the same weights. Fixed seeds; more by hand:

    tests/fuzz/steps/run.py --count 1000 --jobs 2               # so many programs, a dozen of them in one file
    tests/fuzz/steps/run.py --first 5000 --minutes 30           # as long as that
    tests/fuzz/steps/run.py --seed 17 --keep FOLDER             # one again, and its smallest form that differs

In f32 within 1e-5 of what each series and each weight holds, or within what f32 itself is away from f64; in f64, where a plan is
the same graph with LibTorch's sums, within 1e-10. Some runs are stopped and go on, to the same bits. Python's standard
library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import argparse
import array
import collections
import concurrent.futures
import csv
import json
import math
import os
import pathlib
import re
import shutil
import struct
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "run/support"), str(HERE.parent / "programs"), str(HERE)]
from blocks import HEAD  # noqa: E402
from harness import LTRC, check, finish, newest, result_of, run, scratch  # noqa: E402
from shrink import shrunk  # noqa: E402
from steps import Steps  # noqa: E402

PACK = 12
F32, F64 = 1e-5, 1e-10
# What is added to it, of rounding that f32 shows against f64: both back ends are as far from that.
NOISE = 4
# What a wrong value shows at least, whatever the noise.
LEAST_WRONG = 1e-3


def refused(source):
    """What `ltrc check` has against it; "" if nothing."""
    result = run(LTRC, "check", "--message-format=short", source)
    return "" if result.returncode == 0 else result.text


def series(folder):
    """{series or weight: its numbers} of a run."""
    found = collections.defaultdict(list)
    with open(folder / "metrics.csv") as file:
        for row in csv.DictReader(file):
            for name, value in row.items():
                found[name].append(float(value) if value else None)
    data = (folder / "checkpoints/last/weights.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    for name, one in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = one["data_offsets"]
            found["weights " + name] = array.array({"F32": "f", "F64": "d", "I64": "q", "BOOL": "b"}[one["dtype"]], data[8 + size + begin:8 + size + end]).tolist()
    return dict(found)


def apart(a, b):
    """How far two series are from each other, by the largest number in them; infinity where they differ in form."""
    if len(a) != len(b) or any((one is None) != (other is None) for one, other in zip(a, b)):
        return math.inf
    pairs = [(one, other) for one, other in zip(a, b) if one is not None and one != other and not (one != one and other != other)]
    if not pairs:
        return 0.0
    if not all(math.isfinite(one) and math.isfinite(other) for one, other in pairs):
        return math.inf
    scale = max(max(abs(one), abs(other)) for one, other in pairs)
    scale = max([scale, *(abs(one) for one in a if one is not None and math.isfinite(one))])
    return max(abs(one - other) for one, other in pairs) / max(scale, 1e-3)


def differences(a, b, limit):
    """The series that are not the same, with how far they are apart."""
    if a.keys() != b.keys():
        return ["not the same series: " + ", ".join(sorted(a.keys() ^ b.keys()))]
    found = []
    for name in a:
        if (far := apart(a[name], b[name])) > limit:
            found.append(f"{name} {far:.1e}: {[x for x in a[name] if x is not None][-3:]} and {[x for x in b[name] if x is not None][-3:]}")
    return found


class Runs:
    """Those of one experiment of a built program."""

    def __init__(self, program, seed, folder, text):
        self.program, self.seed, self.folder = program, seed, folder / f"runs{seed}"
        self.hangs_on_length = "schedule" in text or "Swa" in text
        self.is_planned = True

    def fit(self, name, *options):
        """(how it ended, its series, its text); the run lies in the folder `name`."""
        result = run(self.program, "fit", f"e{self.seed}", "--no-bar", "--threads", 2 if self.seed % 5 == 0 else 1, "--out", self.folder / name, *options)
        if result.returncode != 0:
            code = re.search(r"error\[(\w+)\]", result.text)
            return f"{result.returncode} {code.group(1) if code else ''}", {}, result.text
        return "", series(newest(self.folder / name)), result.text

    def compared(self, precision, other):
        ended, values, text = self.fit(f"torch-{precision}", "--backend", "torch", "--precision", precision)
        planned_end, planned, planned_text = self.fit(f"{other}-{precision}", "--backend", other, "--precision", precision)
        if " runs op by op" in planned_text or "R2015" in planned_end:
            self.is_planned = False
        if "R2015" in planned_end:
            return ""
        if bool(ended) != bool(planned_end):
            return f"{precision}: ends with {ended or 'nothing'} op by op, with {planned_end or 'nothing'} planned\n{text[-600:]}\n{planned_text[-600:]}"
        found = differences(values, planned, F64 if precision == "f64" else F32)
        if found and precision == "f32":
            # What a step makes of rounding: a bias in front of a norm, which has no gradient but that, moves by whole steps of some rules.
            wide_end, wide, text = self.fit("wide", "--backend", "torch", "--precision", "f64")
            noise = max(apart(values[name], wide[name]) for name in values) if not wide_end else 0
            found = differences(values, planned, F32 + NOISE * min(noise, LEAST_WRONG))
            if not found:
                return self.compared("f64", "native")
        return f"{precision}: " + "\n".join(found) if found else ""

    def resumed(self):
        """A run that is stopped and goes on has the bits of one that is not."""
        ends = [self.fit("whole")[0], self.fit("parts", "--steps", 5)[0]]
        if any(ends):
            return ""
        ended, _, text = self.fit("parts", "--resume", "last", "--steps", 12)
        if ended:
            return f"goes on, and ends with {ended}\n{text[-600:]}"
        whole, parts = (result_of(newest(self.folder / name)) for name in ("whole", "parts"))
        return "" if whole == parts else "a run that was stopped is another one"

    def fault(self):
        fault = self.compared("f32", "auto")
        if not fault and self.seed % 3 == 1:
            fault = self.compared("f64", "native")
        # What is planned for a whole run is another thing for a part of it.
        if not fault and self.seed % 4 == 2 and not self.hangs_on_length:
            fault = self.resumed()
        shutil.rmtree(self.folder, ignore_errors=True)
        return fault


def text_of(seed):
    return Steps(seed).text()


def pack_fault(text, seed, folder):
    """What is wrong with a file of one experiment; of one that is refused or cannot be built nothing."""
    source = folder / "small.ltr"
    source.write_text(text)
    program = folder / "small"
    if run(LTRC, "build", source, "-o", program).returncode != 0:
        return ""
    return Runs(program, seed, folder, text).fault()


def packed(seeds, place):
    """[(seed, kind, what is wrong)] of a file with all of them; kind: refused, wrong, op by op or planned."""
    folder = place / f"{os.getpid()}-{seeds[0]}"
    folder.mkdir()
    found, texts = [], {}
    for seed in seeds:
        texts[seed] = text_of(seed)
        (folder / f"p{seed}.ltr").write_text(HEAD + texts[seed])
    sources = {seed: folder / f"p{seed}.ltr" for seed in seeds}
    if run(LTRC, "check", "--message-format=short", *sources.values()).returncode != 0:
        for seed, source in sources.items():
            if text := refused(source):
                del texts[seed]
                found.append((seed, "refused", "\n".join(line for line in text.split("\n") if "error" in line)))
    program = folder / "all"
    source = folder / "all.ltr"
    source.write_text(HEAD + "".join(texts.values()))
    result = run(LTRC, "build", source, "-o", program)
    if result.returncode != 0:
        return found + [(seeds[0], "wrong", "does not build\n" + result.text)]
    for seed in texts:
        runs = Runs(program, seed, folder, texts[seed])
        fault = runs.fault()
        found.append((seed, "wrong" if fault else "planned" if runs.is_planned else "op by op", fault))
    shutil.rmtree(folder)
    return found


def report(seed, fault, folder, shrinks):
    """Says what is wrong, with the smallest form."""
    place = folder / f"small{seed}"
    place.mkdir(exist_ok=True)
    text = HEAD + text_of(seed)
    if shrinks:
        kind = fault.split(":")[0]
        text = shrunk({"p": text}, lambda files: pack_fault(files["p"], seed, place).startswith(kind), tries=150)["p"]
    (place / f"p{seed}.ltr").write_text(text)
    check(f"step {seed}", False, fault[:2000])
    print(text if shrinks else f"      in {place}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=PACK, help="so many programs")
    parser.add_argument("--minutes", type=float, help="from --first on, as long as that")
    parser.add_argument("--jobs", type=int, default=1, help="so many processes")
    parser.add_argument("--keep", type=pathlib.Path, help="where what differs stays")
    parser.add_argument("--whole", action="store_true", help="without looking for the smallest form")
    options = parser.parse_args()
    count = collections.Counter()
    with scratch() as place:
        folder = options.keep or pathlib.Path(place)
        folder.mkdir(exist_ok=True)
        os.environ["LTR_CACHE_DIR"] = str(pathlib.Path(place) / "cache")
        first, last = (options.seed, options.seed + 1) if options.seed is not None else (options.first, options.first + options.count)
        end = time.monotonic() + 60 * (options.minutes or 0)
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            while time.monotonic() < end if options.minutes else first < last:
                packs = [range(at, at + PACK if options.minutes else min(at + PACK, last))
                         for at in range(first, first + PACK * options.jobs, PACK) if options.minutes or at < last]
                for seeds, future in [(seeds, pool.submit(packed, seeds, pathlib.Path(place))) for seeds in packs]:
                    for seed, kind, fault in future.result():
                        count[kind] += 1
                        if kind == "wrong":
                            report(seed, fault, folder, not options.whole)
                        elif kind == "refused" and options.keep:
                            print(f"refused {seed}: {fault}")
                    print(f"steps {seeds[0]} to {seeds[-1]}: " + ", ".join(f"{n} {kind}" for kind, n in count.most_common()), flush=True)
                first += PACK * options.jobs
    check("few are refused", count["refused"] * 10 <= count.total(), count)
    finish()


if __name__ == "__main__":
    main()
