"""What record_metrics.py gives to metrics."""
import torch


def wave(n, shift):
    return torch.sin(0.7 * torch.arange(n, dtype=torch.float64) + shift).float()


def ids(n, modulus, step):
    return (torch.arange(n) * torch.arange(n) * step + torch.arange(n)) % modulus


# Batches of each kind of input, mostly two, as torch has them and as the program writes them.
INPUTS = {
    "logits": ([wave(40, s).reshape(8, 5) for s in (0, 1)], ["wave(40, 0.0).reshape(8, 5)", "wave(40, 1.0).reshape(8, 5)"]),
    "label": ([ids(8, 5, s) for s in (3, 1)], ["ids(8, 5, 3)", "ids(8, 5, 1)"]),
    "few": ([ids(8, 7, s) % 2 for s in (3, 1)], ["ids(8, 7, 3) % 2", "ids(8, 7, 1) % 2"]),
    "pixels": ([wave(120, s).reshape(4, 5, 6) for s in (0, 1)],
               ["wave(120, 0.0).reshape(4, 5, 6)", "wave(120, 1.0).reshape(4, 5, 6)"]),
    "pixel_label": ([ids(24, 5, s).reshape(4, 6) for s in (3, 1)],
                    ["ids(24, 5, 3).reshape(4, 6)", "ids(24, 5, 1).reshape(4, 6)"]),
    "score": ([wave(16, s) * 2 for s in (0, 1)], ["wave(16, 0.0) * 2", "wave(16, 1.0) * 2"]),
    "binary": ([ids(16, 7, 3) % 2, ids(16, 7, 1) % 2], ["ids(16, 7, 3) % 2", "ids(16, 7, 1) % 2"]),
    "scores": ([wave(32, s).reshape(8, 4) for s in (0, 1)], ["wave(32, 0.0).reshape(8, 4)", "wave(32, 1.0).reshape(8, 4)"]),
    "labels": ([ids(32, 7, s).reshape(8, 4) % 2 for s in (3, 1)],
               ["ids(32, 7, 3).reshape(8, 4) % 2", "ids(32, 7, 1).reshape(8, 4) % 2"]),
    "y": ([wave(12, s) for s in (0, 1)], ["wave(12, 0.0)", "wave(12, 1.0)"]),
    "t": ([wave(12, s) for s in (0.3, 1.5)], ["wave(12, 0.3)", "wave(12, 1.5)"]),
    "rows": ([wave(12, s).reshape(4, 3) for s in (0, 1)], ["wave(12, 0.0).reshape(4, 3)", "wave(12, 1.0).reshape(4, 3)"]),
    "row_t": ([wave(12, s).reshape(4, 3) for s in (0.3, 1.5)],
              ["wave(12, 0.3).reshape(4, 3)", "wave(12, 1.5).reshape(4, 3)"]),
    "p": ([wave(12, s).abs().reshape(4, 3) + 0.1 for s in (0, 1)],
          ["abs(wave(12, 0.0)).reshape(4, 3) + 0.1", "abs(wave(12, 1.0)).reshape(4, 3) + 0.1"]),
    "q": ([wave(12, s).abs().reshape(4, 3) + 0.1 for s in (0.3, 1.5)],
          ["abs(wave(12, 0.3)).reshape(4, 3) + 0.1", "abs(wave(12, 1.5)).reshape(4, 3) + 0.1"]),
    "image": ([wave(2 * 3 * 16 * 16, s).reshape(2, 3, 16, 16) for s in (0, 1)],
              ["wave(1536, 0.0).reshape(2, 3, 16, 16)", "wave(1536, 1.0).reshape(2, 3, 16, 16)"]),
    "image_t": ([wave(2 * 3 * 16 * 16, s).reshape(2, 3, 16, 16) for s in (0.3, 1.1)],
                ["wave(1536, 0.3).reshape(2, 3, 16, 16)", "wave(1536, 1.1).reshape(2, 3, 16, 16)"]),
}

# Without a class that never occurs: torchmetrics counts such a one as 0 in a ranking, and here it is left out.
INPUTS["every_label"] = ([(torch.arange(8) * 3 + s) % 5 for s in (0, 1)], ["(arange(8) * 3) % 5", "(arange(8) * 3 + 1) % 5"])

# Scores above 0: torchmetrics takes the others for documents that were not found.
INPUTS["found"] = ([wave(20, s) + 2 for s in (0, 1)], ["wave(20, 0.0) + 2", "wave(20, 1.0) + 2"])
INPUTS["relevant"] = ([ids(20, 7, s) % 2 for s in (3, 1)], ["ids(20, 7, 3) % 2", "ids(20, 7, 1) % 2"])
INPUTS["found_rows"] = ([x.reshape(4, 5) for x in INPUTS["found"][0]], [f"({x}).reshape(4, 5)" for x in INPUTS["found"][1]])
INPUTS["relevant_rows"] = ([x.reshape(4, 5) for x in INPUTS["relevant"][0]], [f"({x}).reshape(4, 5)" for x in INPUTS["relevant"][1]])
INPUTS["query"] = ([torch.arange(20) % 4 + 4 * s for s in (0, 1)], ["arange(20) % 4", "arange(20) % 4 + 4"])

# Labels of which some are to be left out: where they do not count, they are no classes.
INPUTS["padded"] = ([torch.where(torch.arange(8) % 3 == s, -100, (torch.arange(8) * 3 + s) % 5) for s in (0, 1)],
                    ["where(arange(8) % 3 == 0, -100, (arange(8) * 3) % 5)",
                     "where(arange(8) % 3 == 1, -100, (arange(8) * 3 + 1) % 5)"])
INPUTS["padded_pixels"] = ([torch.where(torch.arange(24) % 4 == s, -100, ids(24, 5, 3)).reshape(4, 6) for s in (0, 1)],
                           [f"where(arange(24) % 4 == {s}, -100, ids(24, 5, 3)).reshape(4, 6)" for s in (0, 1)])
INPUTS["padded_binary"] = ([torch.where(torch.arange(16) % 3 == s, -100, ids(16, 7, 3) % 2) for s in (0, 1)],
                           [f"where(arange(16) % 3 == {s}, -100, ids(16, 7, 3) % 2)" for s in (0, 1)])
INPUTS["padded_labels"] = ([torch.where(torch.arange(32) % 5 == s, -100, ids(32, 7, 3) % 2).reshape(8, 4) for s in (0, 1)],
                           [f"where(arange(32) % 5 == {s}, -100, ids(32, 7, 3) % 2).reshape(8, 4)" for s in (0, 1)])
INPUTS["tokens"] = ([wave(60, s).reshape(2, 6, 5) for s in (0, 1)], [f"wave(60, {s}.0).reshape(2, 6, 5)" for s in (0, 1)])
INPUTS["token_label"] = ([ids(12, 5, s).reshape(2, 6) for s in (3, 1)], [f"ids(12, 5, {s}).reshape(2, 6)" for s in (3, 1)])
INPUTS["padded_tokens"] = ([torch.where(torch.arange(12) % 4 == s, -100, ids(12, 5, 3)).reshape(2, 6) for s in (0, 1)],
                           [f"where(arange(12) % 4 == {s}, -100, ids(12, 5, 3)).reshape(2, 6)" for s in (0, 1)])

# What is given to torchmetrics as text is given here as numbers of words, of which 0 ends a text.
INPUTS["masks"] = ([wave(240, s).reshape(2, 5, 4, 6) for s in (0, 1)], [f"wave(240, {s}.0).reshape(2, 5, 4, 6)" for s in (0, 1)])
INPUTS["mask_label"] = ([ids(48, 5, s).reshape(2, 4, 6) for s in (3, 1)], [f"ids(48, 5, {s}).reshape(2, 4, 6)" for s in (3, 1)])
INPUTS["said"] = ([torch.where(torch.arange(36) % 9 > 6, 0, torch.where(torch.arange(36) % 7 == s, 5, ids(36, 4, 3 - s) + 1)).reshape(4, 9)
                   for s in (0, 1)],
                  [f"where(arange(36) % 9 > 6, 0, where(arange(36) % 7 == {s}, 5, ids(36, 4, {3 - s}) + 1)).reshape(4, 9)" for s in (0, 1)])
INPUTS["meant"] = ([torch.where(torch.arange(36) % 9 > 7 - s, 0, ids(36, 4, 3 - s) + 1).reshape(4, 9) for s in (0, 1)],
                   [f"where(arange(36) % 9 > {7 - s}, 0, ids(36, 4, {3 - s}) + 1).reshape(4, 9)" for s in (0, 1)])
INPUTS["short"] = ([torch.where(torch.arange(36) % 9 > 3 + s, 0, ids(36, 3, 2) + 1 + s).reshape(4, 9) for s in (0, 1)],
                   [f"where(arange(36) % 9 > {3 + s}, 0, ids(36, 3, 2) + {1 + s}).reshape(4, 9)" for s in (0, 1)])
INPUTS["meant_each"] = ([torch.stack([INPUTS[name][0][s] for name in ("meant", "short", "said")], 1).roll(3, 0) for s in (0, 1)],
                        ["stack([" + ", ".join(INPUTS[name][1][s] for name in ("meant", "short", "said")) + "], dim = 1).roll(3, 0)" for s in (0, 1)])
INPUTS["above"] = ([wave(12, s) + 1.5 for s in (0, 1)], ["wave(12, 0.0) + 1.5", "wave(12, 1.0) + 1.5"])
INPUTS["above_t"] = ([wave(12, s) + 1.25 for s in (0.3, 1.5)], ["wave(12, 0.3) + 1.25", "wave(12, 1.5) + 1.25"])

# Documents that do not count, queries without a relevant or an irrelevant document, relevances of several grades, equal scores.
INPUTS["sparse"] = ([torch.where(torch.arange(20) % 4 == 0, s, ids(20, 7, 3) % 2) for s in (0, 1)],
                    [f"where(arange(20) % 4 == 0, {s}, ids(20, 7, 3) % 2)" for s in (0, 1)])
INPUTS["padded_sparse"] = ([torch.where(torch.arange(20) % 7 == 3, -100, x) for x in INPUTS["sparse"][0]],
                           [f"where(arange(20) % 7 == 3, -100, {x})" for x in INPUTS["sparse"][1]])
INPUTS["grades"] = ([ids(20, 7, s) % 4 for s in (3, 1)], ["ids(20, 7, 3) % 4", "ids(20, 7, 1) % 4"])
INPUTS["tied"] = ([torch.floor(x * 2) / 2 + 1 for x in INPUTS["found"][0]], [f"floor(({x}) * 2) / 2 + 1" for x in INPUTS["found"][1]])
INPUTS["all_yes"] = ([torch.ones(16, dtype=torch.int64)] * 2, ["ones(16).to(i64)"] * 2)
INPUTS["holes"] = ([torch.where(torch.arange(12) % 5 == s, float("nan"), wave(12, s)) for s in (0, 1)],
                   [f"where(arange(12) % 5 == {s}, log(-1.0), wave(12, {s}.0))" for s in (0, 1)])
INPUTS["weights"] = ([torch.where(torch.arange(12) % 7 == s + 2, float("nan"), wave(12, s + 0.5).abs()) for s in (0, 1)],
                     [f"where(arange(12) % 7 == {s + 2}, log(-1.0), abs(wave(12, {s}.5)))" for s in (0, 1)])
INPUTS["share"] = ([torch.floor((wave(16, s) + 1) * 4) / 8 for s in (0, 1)], [f"floor((wave(16, {s}.0) + 1) * 4) / 8" for s in (0, 1)])
INPUTS["one"] = ([torch.tensor(x) for x in (3.0, -1.5, float("nan"), 0.25, 8.0)], ["3.0", "-1.5", "log(-1.0)", "0.25", "8.0"])
INPUTS["weight"] = ([torch.tensor(x) for x in (1.0, 2.0, 9.0, 0.0, 0.5)], ["1.0", "2.0", "9.0", "0.0", "0.5"])
INPUTS["other_logits"] = ([wave(40, s).cos().reshape(8, 5) for s in (0.3, 2)], [f"cos(wave(40, {s})).reshape(8, 5)" for s in ("0.3", "2.0")])
INPUTS["wide"] = ([torch.sin(torch.arange(48) ** 2 * 0.37 + s).reshape(12, 4) for s in (0, 1)],
                  [f"sin((arange(48) ** 2).to(float) * 0.37 + {s}.0).reshape(12, 4)" for s in (0, 1)])
INPUTS["wide_t"] = ([x * 2 + torch.arange(4) for x in INPUTS["wide"][0]], [f"({x}) * 2 + arange(4).to(float)" for x in INPUTS["wide"][1]])
for name, size in {"halved": (2, 3, 49, 64), "large": (1, 1, 176, 180)}.items():
    n, shape = torch.Size(size).numel(), ", ".join(map(str, size))
    INPUTS[name] = ([wave(n, s).reshape(size) for s in (0, 1)], [f"wave({n}, {s}.0).reshape({shape})" for s in (0, 1)])
    INPUTS[f"{name}_t"] = ([x * 0.8 + 0.3 for x in INPUTS[name][0]], [f"({x}) * 0.8 + 0.3" for x in INPUTS[name][1]])
