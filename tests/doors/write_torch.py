"""Writes the PyTorch files that doors/weights_file_test.cpp reads: write_torch.py FOLDER. Needs torch."""
import collections
import pathlib
import sys

import torch

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
state = collections.OrderedDict()
state["a.weight"] = torch.nn.Parameter(base)
state["a.turned"] = base.t()[1:]
state["b.half"] = torch.tensor([1.5, -2.0], dtype=torch.float16)
state["b.brain"] = torch.tensor([0.5], dtype=torch.bfloat16)
state["b.count"] = torch.tensor(7, dtype=torch.int64)
state["b.flags"] = torch.tensor([True, False])
state["b.empty"] = torch.zeros(0, 3)
torch.save(state, folder / "plain.pt")
torch.save({"epoch": 3, "state_dict": state, "hyper_parameters": {"lr": 0.1, "betas": (0.9, 0.95)},
            "ema": {"w": torch.ones(2, dtype=torch.float64)}}, folder / "checkpoint.ckpt")
torch.save(state, folder / "legacy.pt", _use_new_zipfile_serialization=False)
