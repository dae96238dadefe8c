"""Writes tests/parity/metrics.ltr: every metric of the library on fixed data, against the values that torchmetrics gives.

    python3 record_metrics.py > metrics.ltr        needs torch and torchmetrics

The data are formulas, so that the program makes the same numbers; it runs as the ctest entry parity.metrics.
"""
import itertools
import warnings

import torch
import torchmetrics
import torchmetrics.classification as C
import torchmetrics.image as I
import torchmetrics.regression as R
import torchmetrics.audio as A
import torchmetrics.retrieval as T
import torchmetrics.segmentation as S
import torchmetrics.text as X
from metric_inputs import INPUTS
from torchmetrics.image.fid import FrechetInceptionDistance

warnings.filterwarnings("ignore")
ROWS = []


def row(program, twin, *inputs, tolerance=1e-6, prepare=None):
    """`program` constructs the metric, `twin` is torchmetrics'; `prepare` makes its inputs of the program's."""
    ROWS.append((program, twin, inputs, tolerance, prepare))


def averages(name, twin, **options):
    for average in ("macro", "micro", "weighted"):
        given = "".join(f", {key} = {value}" for key, value in options.items())
        row(f"{name}(5, average = {average}{given})", twin(num_classes=5, average=average, **options), "logits", "label")
        row(f"{name}(5, average = {average}{given})", twin(num_classes=5, average=average, **options), "logits", "few")


for name, twin in {"Accuracy": C.MulticlassAccuracy, "HammingDistance": C.MulticlassHammingDistance,
                   "Precision": C.MulticlassPrecision, "Recall": C.MulticlassRecall,
                   "Specificity": C.MulticlassSpecificity, "F1Score": C.MulticlassF1Score}.items():
    averages(name, twin)
    row(f"{name}(5, average = macro, top_k = 2)", twin(num_classes=5, average="macro", top_k=2), "logits", "label")
    row(f"{name}(5, average = macro, ignore = 1)", twin(num_classes=5, average="macro", ignore_index=1), "logits", "label")
    row(f"{name}(5, average = micro)", twin(num_classes=5, average="micro"), "pixels", "pixel_label")
averages("FBetaScore", C.MulticlassFBetaScore, beta=0.5)
row("StatScores(5)", C.MulticlassStatScores(num_classes=5, average=None), "logits", "label")
for name, twin in {"Accuracy": C.BinaryAccuracy, "HammingDistance": C.BinaryHammingDistance, "Precision": C.BinaryPrecision,
                   "Recall": C.BinaryRecall, "Specificity": C.BinarySpecificity, "F1Score": C.BinaryF1Score}.items():
    row(f"Binary{name}()", twin(), "score", "binary", prepare=lambda s, t: (torch.sigmoid(s), t))
    row(f"Binary{name}(threshold = 0.7)", twin(threshold=0.7), "score", "binary", prepare=lambda s, t: (torch.sigmoid(s), t))
row("BinaryFBetaScore(beta = 2.0)", C.BinaryFBetaScore(beta=2.0), "score", "binary",
    prepare=lambda s, t: (torch.sigmoid(s), t))
for name, twin in {"Accuracy": C.MultilabelAccuracy, "HammingDistance": C.MultilabelHammingDistance,
                   "Precision": C.MultilabelPrecision, "Recall": C.MultilabelRecall,
                   "Specificity": C.MultilabelSpecificity, "F1Score": C.MultilabelF1Score}.items():
    for average in ("macro", "micro", "weighted"):
        row(f"Multilabel{name}(4, average = {average})", twin(num_labels=4, average=average), "scores", "labels",
            prepare=lambda s, t: (torch.sigmoid(s), t))
row("MultilabelFBetaScore(4, beta = 2.0)", C.MultilabelFBetaScore(beta=2.0, num_labels=4), "scores", "labels",
    prepare=lambda s, t: (torch.sigmoid(s), t))
row("ExactMatch(5)", C.MulticlassExactMatch(num_classes=5), "pixels", "pixel_label")
row("MultilabelExactMatch(4)", C.MultilabelExactMatch(num_labels=4), "scores", "labels",
    prepare=lambda s, t: (torch.sigmoid(s), t))

row("ConfusionMatrix(5)", C.MulticlassConfusionMatrix(num_classes=5), "logits", "label")
for ours, theirs in {"rows": "true", "columns": "pred", "all": "all"}.items():
    row(f"ConfusionMatrix(5, normalize = {ours})", C.MulticlassConfusionMatrix(num_classes=5, normalize=theirs), "logits", "few")
for weights in ("none", "linear", "quadratic"):
    row(f"CohenKappa(5, weights = {weights})", C.MulticlassCohenKappa(num_classes=5, weights=weights), "logits", "label")
row("MatthewsCorrCoef(5)", C.MulticlassMatthewsCorrCoef(num_classes=5), "logits", "label")
for average in ("macro", "micro", "weighted"):
    row(f"JaccardIndex(5, average = {average})", C.MulticlassJaccardIndex(num_classes=5, average=average), "logits", "few")
for name, twin in {"ConfusionMatrix": C.BinaryConfusionMatrix, "MatthewsCorrCoef": C.BinaryMatthewsCorrCoef,
                   "JaccardIndex": C.BinaryJaccardIndex, "CohenKappa": C.BinaryCohenKappa}.items():
    row(f"Binary{name}()", twin(), "score", "binary", prepare=lambda s, t: (torch.sigmoid(s), t))
for norm in ("l1", "l2", "max"):
    row(f"CalibrationError(5, norm = {norm})", C.MulticlassCalibrationError(num_classes=5, norm=norm), "logits", "label",
        prepare=lambda s, t: (torch.softmax(s, 1), t))
    row(f"BinaryCalibrationError(norm = {norm})", C.BinaryCalibrationError(norm=norm), "score", "binary",
        prepare=lambda s, t: (torch.sigmoid(s), t))

row("MeanSquaredError()", R.MeanSquaredError(), "y", "t")
row("MeanSquaredError(squared = false)", R.MeanSquaredError(squared=False), "y", "t")
row("RootMeanSquaredError()", R.MeanSquaredError(squared=False), "y", "t")
row("MeanAbsoluteError()", R.MeanAbsoluteError(), "y", "t")
row("MeanSquaredLogError()", R.MeanSquaredLogError(), "p", "q")
row("MeanAbsolutePercentageError()", R.MeanAbsolutePercentageError(), "y", "t", tolerance=1e-5)
row("SymmetricMeanAbsolutePercentageError()", R.SymmetricMeanAbsolutePercentageError(), "y", "t")
row("R2Score()", R.R2Score(), "y", "t", tolerance=1e-5)
row("R2Score(adjusted = 3)", R.R2Score(adjusted=3), "y", "t", tolerance=1e-5)
for how in ("uniform_average", "variance_weighted"):
    row(f"R2Score(outputs = 3, multioutput = {how})", R.R2Score(multioutput=how), "rows", "row_t", tolerance=1e-5)
    row(f"ExplainedVariance(outputs = 3, multioutput = {how})", R.ExplainedVariance(multioutput=how), "rows", "row_t",
        tolerance=1e-5)
row("PearsonCorrCoef()", R.PearsonCorrCoef(), "y", "t")
for how in ("mean", "sum"):
    row(f"CosineSimilarity(reduction = {how})", R.CosineSimilarity(reduction=how), "rows", "row_t")
row("KLDivergence()", R.KLDivergence(), "p", "q")
row("KLDivergence(log_prob = true)", R.KLDivergence(log_prob=True), "rows", "row_t")

to_probs = lambda s, t: (torch.softmax(s, 1), t)
for average in ("macro", "weighted"):
    row(f"AUROC(5, average = {average})", C.MulticlassAUROC(num_classes=5, average=average), "logits", "every_label",
        prepare=to_probs)
    row(f"AveragePrecision(5, average = {average})", C.MulticlassAveragePrecision(num_classes=5, average=average),
        "logits", "every_label", prepare=to_probs)
    row(f"MultilabelAUROC(4, average = {average})", C.MultilabelAUROC(num_labels=4, average=average), "scores", "labels")
    row(f"MultilabelAveragePrecision(4, average = {average})", C.MultilabelAveragePrecision(num_labels=4, average=average),
        "scores", "labels")
    for bins in (5, 100):
        row(f"AUROC(5, average = {average}, thresholds = {bins})", C.MulticlassAUROC(num_classes=5, average=average, thresholds=bins), "logits",
            "every_label", prepare=to_probs)
        row(f"AveragePrecision(5, average = {average}, thresholds = {bins})",
            C.MulticlassAveragePrecision(num_classes=5, average=average, thresholds=bins), "logits", "every_label", prepare=to_probs)
        row(f"MultilabelAUROC(4, average = {average}, thresholds = {bins})",
            C.MultilabelAUROC(num_labels=4, average=average, thresholds=bins), "scores", "labels")
        row(f"MultilabelAveragePrecision(4, average = {average}, thresholds = {bins})",
            C.MultilabelAveragePrecision(num_labels=4, average=average, thresholds=bins), "scores", "labels")
for bins in (2, 5, 100):
    row(f"BinaryAUROC(thresholds = {bins})", C.BinaryAUROC(thresholds=bins), "score", "binary")
    row(f"BinaryAveragePrecision(thresholds = {bins})", C.BinaryAveragePrecision(thresholds=bins), "score", "binary")
    row(f"BinaryAUROC(thresholds = {bins}, ignore = -100)", C.BinaryAUROC(thresholds=bins, ignore_index=-100), "score", "padded_binary")
row("BinaryAUROC()", C.BinaryAUROC(), "score", "binary")
row("BinaryAveragePrecision()", C.BinaryAveragePrecision(), "score", "binary")
row("SpearmanCorrCoef()", R.SpearmanCorrCoef(), "y", "t")
for name, twin in {"MRR": T.RetrievalMRR, "MAP": T.RetrievalMAP, "NormalizedDCG": T.RetrievalNormalizedDCG}.items():
    row(f"Retrieval{name}()", twin(), "found", "relevant", "query")
row("ScaleInvariantSignalDistortionRatio()", A.ScaleInvariantSignalDistortionRatio(), "rows", "row_t", tolerance=1e-5)

row("PeakSignalNoiseRatio(range = 2.0)", I.PeakSignalNoiseRatio(data_range=2.0), "image", "image_t", tolerance=1e-5)
row("StructuralSimilarityIndexMeasure(range = 2.0)", I.StructuralSimilarityIndexMeasure(data_range=2.0), "image", "image_t",
    tolerance=1e-5)

# Nothing is ignored unless it is said; the label that is can lie anywhere.
left_out = {"ignore_index": -100}
for name, twin in {"Accuracy": C.MulticlassAccuracy, "F1Score": C.MulticlassF1Score,
                   "JaccardIndex": C.MulticlassJaccardIndex}.items():
    for average in ("macro", "micro", "weighted"):
        row(f"{name}(5, average = {average}, ignore = -100)", twin(num_classes=5, average=average, **left_out),
            "logits", "padded")
row("Recall(5, ignore = -100)", C.MulticlassRecall(num_classes=5, **left_out), "pixels", "padded_pixels")
row("ExactMatch(5, ignore = -100)", C.MulticlassExactMatch(num_classes=5, **left_out), "pixels", "padded_pixels")
row("ConfusionMatrix(5, ignore = -100)", C.MulticlassConfusionMatrix(num_classes=5, **left_out), "logits", "padded")
row("CohenKappa(5, ignore = -100)", C.MulticlassCohenKappa(num_classes=5, **left_out), "logits", "padded")
row("MatthewsCorrCoef(5, ignore = -100)", C.MulticlassMatthewsCorrCoef(num_classes=5, **left_out), "logits", "padded")
row("CalibrationError(5, ignore = -100)", C.MulticlassCalibrationError(num_classes=5, **left_out), "logits", "padded",
    prepare=to_probs)
row("AUROC(5, ignore = -100)", C.MulticlassAUROC(num_classes=5, **left_out), "logits", "padded", prepare=to_probs)
row("AveragePrecision(5, ignore = -100)", C.MulticlassAveragePrecision(num_classes=5, **left_out), "logits", "padded",
    prepare=to_probs)
for name, twin in {"Accuracy": C.BinaryAccuracy, "F1Score": C.BinaryF1Score, "ConfusionMatrix": C.BinaryConfusionMatrix,
                   "CohenKappa": C.BinaryCohenKappa, "CalibrationError": C.BinaryCalibrationError, "AUROC": C.BinaryAUROC,
                   "AveragePrecision": C.BinaryAveragePrecision}.items():
    row(f"Binary{name}(ignore = -100)", twin(**left_out), "score", "padded_binary",
        prepare=lambda s, t: (torch.sigmoid(s), t))
for average in ("macro", "micro", "weighted"):
    row(f"MultilabelAccuracy(4, average = {average}, ignore = -100)",
        C.MultilabelAccuracy(num_labels=4, average=average, **left_out), "scores", "padded_labels",
        prepare=lambda s, t: (torch.sigmoid(s), t))
row("Perplexity()", X.Perplexity(), "tokens", "token_label", tolerance=1e-5)
row("Perplexity(ignore = -100)", X.Perplexity(ignore_index=-100), "tokens", "padded_tokens", tolerance=1e-5)


class Picked:
    """One of the values of a metric that has several."""

    def __init__(self, twin, key):
        self.update, self.all, self.key = twin.update, twin.compute, key

    def compute(self):
        return self.all()[self.key]


def texts(rows):
    return [" ".join(f"w{n}" for n in row[:([*row, 0]).index(0)]) for row in rows.tolist()]


to_texts = lambda a, b: (texts(a), texts(b))
for name, twin in {"WordErrorRate": X.WordErrorRate, "MatchErrorRate": X.MatchErrorRate, "WordInfoLost": X.WordInfoLost,
                   "WordInfoPreserved": X.WordInfoPreserved}.items():
    row(f"{name}()", twin(), "said", "meant", prepare=to_texts)
for program, twin in {"BLEUScore()": X.BLEUScore(), "BLEUScore(n = 2)": X.BLEUScore(n_gram=2),
                      "BLEUScore(smooth = true)": X.BLEUScore(smooth=True)}.items():
    row(program, twin, "said", "meant", prepare=lambda a, b: (texts(a), [[one] for one in texts(b)]))
for key in ("rouge1", "rouge2", "rougeL"):
    for value in ("fmeasure", "precision", "recall"):
        row(f"ROUGEScore({key}, {value})", Picked(X.ROUGEScore(rouge_keys=(key,)), f"{key}_{value}"), "said", "meant", prepare=to_texts)
to_classes = lambda s, t: (s.argmax(1), t)
for ours, theirs in {"": True, ", include_background = false": False}.items():
    row(f"MeanIoU(5{ours})", S.MeanIoU(num_classes=5, include_background=theirs, input_format="index"), "masks", "mask_label",
        prepare=to_classes)
    for average in ("micro", "macro", "weighted"):
        row(f"DiceScore(5, average = {average}{ours})",
            S.DiceScore(num_classes=5, include_background=theirs, average=average, input_format="index"), "masks", "mask_label",
            prepare=to_classes)
for name in ("Precision", "Recall", "HitRate", "FallOut"):
    for top_k in (None, 2):
        row(f"Retrieval{name}({'' if top_k is None else f'top_k = {top_k}'})", getattr(T, f"Retrieval{name}")(top_k=top_k), "found", "relevant",
            "query")
row("RetrievalRPrecision()", T.RetrievalRPrecision(), "found", "relevant", "query")
batches = itertools.count()


def by_row(scores, relevant):
    """Each row is a query of its own, in every batch."""
    queries = torch.arange(4).unsqueeze(1).expand(4, 5) + 4 * next(batches)
    return scores.flatten(), relevant.flatten(), queries.flatten()


for name, options in {"MRR": {}, "MAP": {}, "NormalizedDCG": {}, "Precision": {"top_k": 2}, "Recall": {"top_k": 2}, "HitRate": {"top_k": 2},
                      "FallOut": {"top_k": 2}, "RPrecision": {}}.items():
    given = ", ".join(f"{key} = {value}" for key, value in options.items())
    row(f"Retrieval{name}({given})", getattr(T, f"Retrieval{name}")(**options), "found_rows", "relevant_rows", prepare=by_row)
row("WeightedMeanAbsolutePercentageError()", R.WeightedMeanAbsolutePercentageError(), "y", "t")
row("LogCoshError()", R.LogCoshError(), "y", "t")
row("MinkowskiDistance(p = 3.0)", R.MinkowskiDistance(p=3.0), "y", "t", tolerance=1e-5)
for ours, theirs in {"": True, "squared = false": False}.items():
    row(f"RelativeSquaredError({ours})", R.RelativeSquaredError(squared=theirs), "y", "t", tolerance=1e-5)
for power in (0.0, 1.0, 1.5, 2.0, 3.0):
    row(f"TweedieDevianceScore(power = {power})", R.TweedieDevianceScore(power=power), "above", "above_t", tolerance=1e-5)
row("CriticalSuccessIndex(threshold = 0.3)", R.CriticalSuccessIndex(threshold=0.3), "y", "t")
row("KendallRankCorrCoef()", R.KendallRankCorrCoef(), "y", "t")
row("JensenShannonDivergence()", R.JensenShannonDivergence(), "p", "q")
row("SignalNoiseRatio()", A.SignalNoiseRatio(), "rows", "row_t", tolerance=1e-5)
row("SignalNoiseRatio(zero_mean = true)", A.SignalNoiseRatio(zero_mean=True), "rows", "row_t", tolerance=1e-5)

# Each class by itself, those that never occur and labels that do not count among them.
of_classes = {"num_classes": 5, "average": "none"}
for name, twin, options in (
        ("Accuracy", C.MulticlassAccuracy, {}), ("HammingDistance", C.MulticlassHammingDistance, {}),
        ("Precision", C.MulticlassPrecision, {}), ("Recall", C.MulticlassRecall, {}), ("Specificity", C.MulticlassSpecificity, {}),
        ("F1Score", C.MulticlassF1Score, {}), ("FBetaScore", C.MulticlassFBetaScore, {"beta": 0.5})):
    given = "".join(f", {key} = {value}" for key, value in options.items())
    for label in ("label", "few"):
        row(f"{name}(5{given}, average = none)", twin(**of_classes, **options), "logits", label)
    row(f"{name}(5{given}, average = none, top_k = 2)", twin(**of_classes, **options, top_k=2), "logits", "label")
    row(f"{name}(5{given}, average = none, ignore = 1)", twin(**of_classes, **options, ignore_index=1), "logits", "label")
    row(f"{name}(5{given}, average = none, ignore = -100)", twin(**of_classes, **options, **left_out), "pixels", "padded_pixels")
for ignore, label in (("", "few"), (", ignore = 1", "label"), (", ignore = -100", "padded")):
    row(f"JaccardIndex(5, average = none{ignore})",
        C.MulticlassJaccardIndex(**of_classes, ignore_index=int(ignore.split("= ")[1]) if ignore else None), "logits", label)
of_labels = {"num_labels": 4, "average": "none"}
for name, twin, options in (
        ("Accuracy", C.MultilabelAccuracy, {}), ("HammingDistance", C.MultilabelHammingDistance, {}),
        ("Precision", C.MultilabelPrecision, {}), ("Recall", C.MultilabelRecall, {}), ("Specificity", C.MultilabelSpecificity, {}),
        ("F1Score", C.MultilabelF1Score, {}), ("FBetaScore", C.MultilabelFBetaScore, {"beta": 2.0})):
    given = "".join(f", {key} = {value}" for key, value in options.items())
    row(f"Multilabel{name}(4{given}, average = none)", twin(**of_labels, **options), "scores", "labels",
        prepare=lambda s, t: (torch.sigmoid(s), t))
    row(f"Multilabel{name}(4{given}, average = none, ignore = -100)", twin(**of_labels, **options, **left_out), "scores",
        "padded_labels", prepare=lambda s, t: (torch.sigmoid(s), t))
for bins in (None, 5, 100):
    given = "" if bins is None else f", thresholds = {bins}"
    for ignore, label in (("", "every_label"), (", ignore = -100", "padded")):
        options = {**of_classes, **(left_out if ignore else {}), "thresholds": bins}
        row(f"AUROC(5, average = none{given}{ignore})", C.MulticlassAUROC(**options), "logits", label, prepare=to_probs)
        row(f"AveragePrecision(5, average = none{given}{ignore})", C.MulticlassAveragePrecision(**options), "logits", label,
            prepare=to_probs)
    row(f"MultilabelAUROC(4, average = none{given})", C.MultilabelAUROC(**of_labels, thresholds=bins), "scores", "labels")
    row(f"MultilabelAveragePrecision(4, average = none{given})", C.MultilabelAveragePrecision(**of_labels, thresholds=bins),
        "scores", "labels")
# Of an average precision without a positive torchmetrics gives nan, and 0 where there are thresholds.
row("AUROC(5, average = none)", C.MulticlassAUROC(**of_classes), "logits", "few", prepare=to_probs)
row("AveragePrecision(5, average = none, thresholds = 5)", C.MulticlassAveragePrecision(**of_classes, thresholds=5), "logits",
    "few", prepare=to_probs)


for name in ("MRR", "MAP", "NormalizedDCG", "Precision", "Recall", "HitRate", "FallOut", "RPrecision"):
    for action in ("neg", "pos", "skip"):
        for top_k in (None,) if name == "RPrecision" else (None, 1, 2, 9):
            given = "" if top_k is None else f", top_k = {top_k}"
            options = {} if top_k is None else {"top_k": top_k}
            row(f"Retrieval{name}(empty_target_action = {action}{given}, ignore = -100)",
                getattr(T, f"Retrieval{name}")(empty_target_action=action, **options, **left_out), "found", "padded_sparse", "query")
for top_k in (1, 2, 9):
    for scores in ("found", "tied"):
        row(f"RetrievalNormalizedDCG(top_k = {top_k})", T.RetrievalNormalizedDCG(top_k=top_k), scores, "grades", "query")

# Forms of yes or no and of several labels.
to_sigmoid = lambda s, t: (torch.sigmoid(s), t)
for ignore, options, binary, labels in (("", {}, "binary", "labels"), ("ignore = -100", left_out, "padded_binary", "padded_labels")):
    and_ignore = ignore and f", {ignore}"
    row(f"BinaryStatScores({ignore})", C.BinaryStatScores(**options), "score", binary, prepare=to_sigmoid)
    row(f"MultilabelStatScores(4{and_ignore})", C.MultilabelStatScores(num_labels=4, average="none", **options), "scores", labels,
        prepare=to_sigmoid)
    for ours, theirs in {"off": None, "rows": "true", "columns": "pred", "all": "all"}.items():
        row(f"BinaryConfusionMatrix(threshold = 0.7, normalize = {ours}{and_ignore})",
            C.BinaryConfusionMatrix(threshold=0.7, normalize=theirs, **options), "score", binary, prepare=to_sigmoid)
        row(f"MultilabelConfusionMatrix(4, normalize = {ours}{and_ignore})",
            C.MultilabelConfusionMatrix(num_labels=4, normalize=theirs, **options), "scores", labels, prepare=to_sigmoid)
    row(f"MultilabelMatthewsCorrCoef(4{and_ignore})", C.MultilabelMatthewsCorrCoef(num_labels=4, **options), "scores", labels,
        prepare=to_sigmoid)
    for average in ("macro", "micro", "weighted", "none"):
        row(f"MultilabelJaccardIndex(4, average = {average}{and_ignore})",
            C.MultilabelJaccardIndex(num_labels=4, average=average, **options), "scores", labels, prepare=to_sigmoid)
        for bins in (None, 2, 7):
            given = f", average = {average}{'' if bins is None else f', thresholds = {bins}'}{and_ignore}"
            for name in ("AUROC", "AveragePrecision"):
                row(f"Multilabel{name}(4{given})",
                    getattr(C, f"Multilabel{name}")(num_labels=4, average=average, thresholds=bins, **options), "scores", labels)
    for weights in ("linear", "quadratic"):
        row(f"BinaryCohenKappa(weights = {weights}{and_ignore})", C.BinaryCohenKappa(weights=weights, **options), "score", binary,
            prepare=to_sigmoid)
    for most in (0.1, 0.25, 0.5, 1.0):
        for bins in (None, 7, 100):
            given = "" if bins is None else f", thresholds = {bins}"
            row(f"BinaryAUROC(max_fpr = {most}{given}{and_ignore})", C.BinaryAUROC(max_fpr=most, thresholds=bins, **options),
                "score", binary)
row("BinaryAUROC(max_fpr = 0.5)", C.BinaryAUROC(max_fpr=0.5), "score", "all_yes")
row("BinaryStatScores()", C.BinaryStatScores(), "score", "all_yes", prepare=to_sigmoid)


class Made:
    """A twin whose inputs or value torchmetrics has in another form."""

    def __init__(self, twin, update=None, compute=None):
        self.update = (lambda *given: update(twin, *given)) if update else twin.update
        self.compute = (lambda: compute(twin.compute())) if compute else twin.compute


def no_background(value):
    """Torchmetrics leaves class 0 out of the values, which are one each here."""
    return torch.cat([torch.zeros(1), value])


for how in ("", "average = none, "):
    for ours, theirs in {"true": True, "false": False}.items():
        of_class = {"compute": no_background} if how and not theirs else {}
        options = {"num_classes": 5, "include_background": theirs, "input_format": "index"}
        row(f"MeanIoU(5, {how}include_background = {ours})", Made(S.MeanIoU(per_class=bool(how), **options), **of_class),
            "masks", "mask_label", prepare=to_classes)
        row(f"DiceScore(5, {how}include_background = {ours})",
            Made(S.DiceScore(average="none" if how else "macro", **options), **of_class), "masks", "mask_label", prepare=to_classes)

# Text by characters, one number by itself, numbers of which some are nan.
to_words = lambda a, b: tuple(["".join(chr(96 + n) for n in row[:([*row, 0]).index(0)]) for row in rows.tolist()] for rows in (a, b))
row("CharErrorRate()", X.CharErrorRate(), "said", "meant", prepare=to_words)
for how in ("mean", "sum"):
    row(f"EditDistance(reduction = {how})", X.EditDistance(reduction=how), "said", "meant", prepare=to_words)
    row(f"TotalVariation(reduction = {how})", I.TotalVariation(reduction=how), "image", tolerance=1e-5)
for given in (("y",), ("holes",), ("one",)):
    for name in ("MeanMetric", "SumMetric", "MinMetric", "MaxMetric"):
        row(f"{name}()", getattr(torchmetrics.aggregation, name)(), *given)
row("MeanMetric()", torchmetrics.MeanMetric(), "holes", "weights")
row("MeanMetric()", torchmetrics.MeanMetric(), "one", "weight")
for window in (1, 2, 3, 4, 5, 7):
    row(f"RunningMean({window})", torchmetrics.RunningMean(window=window), "one")

# Features and images.
class Features(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.num_features = size

    def forward(self, x):
        return x


def both_sides(twin, features, real):
    twin.update(features, real=False)
    twin.update(real, real=True)


for size, given in ((3, ("rows", "row_t")), (5, ("logits", "other_logits")), (4, ("wide", "wide_t")), (4, ("wide", "wide"))):
    row(f"FrechetDistance({size})", Made(FrechetInceptionDistance(feature=Features(size)), update=both_sides), *given)
row("StructuralSimilarityIndexMeasure(range = 2.0, sigma = 1.0, kernel = 9, k1 = 0.05, k2 = 0.1)",
    I.StructuralSimilarityIndexMeasure(data_range=2.0, sigma=1.0, kernel_size=9, k1=0.05, k2=0.1), "image", "image_t", tolerance=1e-5)
many_scales = I.MultiScaleStructuralSimilarityIndexMeasure
row("MultiScaleStructuralSimilarityIndexMeasure(range = 2.0, sigma = 0.4, kernel = 3)",
    many_scales(data_range=2.0, sigma=0.4, kernel_size=3), "halved", "halved_t", tolerance=1e-5)
row("MultiScaleStructuralSimilarityIndexMeasure(range = 2.0, k1 = 0.02, k2 = 0.05)", many_scales(data_range=2.0, k1=0.02, k2=0.05), "large",
    "large_t", tolerance=1e-5)
row("ScaleInvariantSignalDistortionRatio(zero_mean = true)", A.ScaleInvariantSignalDistortionRatio(zero_mean=True), "rows", "row_t",
    tolerance=1e-5)

# Each of several outputs, and all of them.
row("MeanAbsoluteError(outputs = 3, average = none)", R.MeanAbsoluteError(num_outputs=3), "rows", "row_t")
row("MeanAbsoluteError(outputs = 3)", R.MeanAbsoluteError(), "rows", "row_t")
for ours, theirs in {"true": True, "false": False}.items():
    row(f"MeanSquaredError(squared = {ours}, outputs = 3, average = none)", R.MeanSquaredError(squared=theirs, num_outputs=3), "rows", "row_t")
    row(f"MeanSquaredError(squared = {ours}, outputs = 3)", R.MeanSquaredError(squared=theirs), "rows", "row_t")
row("PearsonCorrCoef(outputs = 3, average = none)", R.PearsonCorrCoef(num_outputs=3), "rows", "row_t")
row("PearsonCorrCoef(outputs = 3)", Made(R.PearsonCorrCoef(num_outputs=3), compute=torch.mean), "rows", "row_t")
row("PearsonCorrCoef(outputs = 4, average = none)", R.PearsonCorrCoef(num_outputs=4), "wide", "wide_t")

# Texts with several references.
to_each = lambda a, b: (texts(a), [texts(one) for one in b])
for n, smooth in ((1, False), (2, False), (3, True), (4, False)):
    program, twin = f"BLEUScore(n = {n}, smooth = {str(smooth).lower()})", X.BLEUScore(n_gram=n, smooth=smooth)
    row(program, twin, "said", "meant_each", prepare=to_each)
    row(program, twin.clone(), "said", "short",
        prepare=lambda a, b: (texts(a), [[one] for one in texts(b)]))
for how in ("best", "avg"):
    for key in ("rouge1", "rouge2", "rougeL"):
        for value in ("fmeasure", "precision", "recall"):
            row(f"ROUGEScore({key}, {value}, accumulate = {how})", Picked(X.ROUGEScore(rouge_keys=(key,), accumulate=how), f"{key}_{value}"),
                "said", "meant_each", prepare=to_each)

# Curves at thresholds, as torchmetrics gives them but for the thresholds; where it has nan, 0 / 0, so has ours.
first_two = lambda curve: torch.stack(curve[:2])
for bins in (2, 5, 20):
    for ignore, binary, label, labels in (("", "binary", "label", "labels"), (", ignore = -100", "padded_binary", "padded", "padded_labels")):
        options = {"thresholds": bins, **(left_out if ignore else {})}
        for name in ("ROC", "PrecisionRecallCurve"):
            given = f"thresholds = {bins}{ignore}"
            row(f"Binary{name}({given})", Made(getattr(C, f"Binary{name}")(**options), compute=first_two), "score", binary)
            row(f"Binary{name}({given}, logits = false)", Made(getattr(C, f"Binary{name}")(**options), compute=first_two), "share", binary)
            row(f"{name}(5, {given})", Made(getattr(C, f"Multiclass{name}")(num_classes=5, **options), compute=first_two), "logits", label,
                prepare=to_probs)
            row(f"Multilabel{name}(4, {given})", Made(getattr(C, f"Multilabel{name}")(num_labels=4, **options), compute=first_two), "scores",
                labels)
for name in ("ROC", "PrecisionRecallCurve"):
    row(f"Binary{name}(thresholds = 7)", Made(getattr(C, f"Binary{name}")(thresholds=7), compute=first_two), "score", "all_yes")
    row(f"{name}(5, thresholds = 7)", Made(getattr(C, f"Multiclass{name}")(num_classes=5, thresholds=7), compute=first_two), "logits", "few",
        prepare=to_probs)


# A class that is ignored may still be predicted.
for average in ("macro", "micro", "weighted"):
    row(f"JaccardIndex(5, average = {average}, ignore = 2)", C.MulticlassJaccardIndex(num_classes=5, average=average, ignore_index=2),
        "logits", "label")


def number(value):
    return repr(float(value))


def main():
    print("""ltr 1

# Written by record_metrics.py: every metric of the library on fixed data, against the values of torchmetrics %s.

fn wave(n: int, shift: float) -> float[n] = sin(arange(n).to(f64) * 0.7 + shift).to(float)

fn ids(n: int, modulus: int, step: int) -> i64[n] = (arange(n) * arange(n) * step + arange(n)) %% modulus
""" % torchmetrics.__version__)
    for index, (program, twin, inputs, tolerance, prepare) in enumerate(ROWS):
        batches_given = range(len(INPUTS[inputs[0]][0]))
        for batch in batches_given:
            given = [INPUTS[name][0][batch] for name in inputs]
            given = prepare(*given) if prepare else given
            twin.update(*given[:2], **({"indexes": given[2]} if len(given) > 2 else {}))
        value = twin.compute()
        print(f'test "{index}: {program} of {" and ".join(inputs)}" {{\n  m = {program}')
        for batch in batches_given:
            print(f'  m.update({", ".join(INPUTS[name][1][batch] for name in inputs)})')
        if value.dim() == 0:
            print(f"  assert close(m.compute(), {number(value)}, {tolerance})\n}}\n")
        else:
            dims = ", ".join(map(str, value.shape))
            flat = ", ".join(number(v) for v in value.flatten())
            flat, given = flat.replace("nan", "-9.0"), "nan_to_num(m.compute(), nan = -9.0)" if "nan" in flat else "m.compute()"
            print(f"  wanted = stack([{flat}]).to(f64).reshape({dims})\n  assert close({given}.to(f64), wanted, {tolerance})\n}}\n")


if __name__ == "__main__":
    main()
