# SPDX-License-Identifier: MIT
"""Writes golden.txt: what PyTorch makes of the cases that layers_test.cpp and training_test.cpp repeat.

Needs torch (Debian's python3-torch will do); run it as `/usr/bin/python3 generate.py` in this folder. All numbers are
computed in double. A line is a name, a count, and that many numbers.
"""
import math
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def numbers(count, salt, shape=None):
    """The same as values_of in golden.hpp: a fixed scatter over [-1, 1]."""
    values = torch.tensor([((i * 7919 + salt * 104729) % 2003) / 1001.5 - 1 for i in range(count)])
    return values.reshape(shape) if shape else values


def set_parameters(module, scale, salt):
    count = sum(p.numel() for p in module.parameters())
    flat, at = scale * numbers(count, salt), 0
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(flat[at:at + p.numel()].reshape(p.shape))
            at += p.numel()


class Residual(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.branch = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.branch(x)


LAYERS = {
    "linear": (nn.Linear(5, 4), (3, 5)),
    "conv2d": (nn.Conv2d(2, 3, 3), (2, 2, 5, 6)),
    "conv2d_stride_padding": (nn.Conv2d(2, 3, 3, stride=2, padding=1), (2, 2, 5, 6)),
    "conv2d_wide_padding": (nn.Conv2d(1, 2, 2, stride=3, padding=2), (2, 1, 4, 3)),
    "max_pool2d": (nn.MaxPool2d(2), (2, 2, 5, 6)),
    "max_pool2d_overlapping": (nn.MaxPool2d(3, stride=2), (2, 2, 5, 6)),
    "avg_pool2d": (nn.AvgPool2d(2), (2, 2, 5, 6)),
    "avg_pool2d_overlapping": (nn.AvgPool2d(3, stride=1), (2, 2, 5, 6)),
    "layer_norm": (nn.LayerNorm(7), (3, 7)),
    "batch_norm": (nn.BatchNorm1d(7), (4, 7)),
    "batch_norm_of_images": (nn.BatchNorm2d(2), (2, 2, 5, 6)),
    "relu": (nn.ReLU(), (3, 7)),
    "leaky_relu": (nn.LeakyReLU(), (3, 7)),
    "gelu": (nn.GELU(), (3, 7)),
    "tanh": (nn.Tanh(), (3, 7)),
    "sigmoid": (nn.Sigmoid(), (3, 7)),
    "softmax": (nn.Softmax(dim=1), (3, 7)),
    "flatten": (nn.Flatten(), (2, 2, 5, 6)),
    "residual": (Residual(nn.Linear(5, 5), nn.ReLU()), (3, 5)),
}


def layer_lines():
    for name, (layer, shape) in LAYERS.items():
        set_parameters(layer, 1, 17)
        x = (3 * numbers(math.prod(shape), 5, shape)).requires_grad_()
        y = layer(x)
        y.backward(numbers(y.numel(), 7, y.shape))
        yield f"{name} output", y
        yield f"{name} input_gradient", x.grad
        gradients = [p.grad.flatten() for p in layer.parameters()]
        if gradients:
            yield f"{name} parameter_gradient", torch.cat(gradients)
        if name.startswith("batch_norm"):
            yield f"{name} buffers", torch.cat([layer.running_mean, layer.running_var])
            yield f"{name} evaluation", layer.eval()(x)
    table = nn.Embedding(5, 3)
    set_parameters(table, 1, 17)
    y = table(torch.tensor([[3, 0], [1, 3], [4, 4]])).flatten(1)
    y.backward(numbers(y.numel(), 7, y.shape))
    yield "embedding output", y
    yield "embedding parameter_gradient", table.weight.grad


def loss_lines():
    x = (3 * numbers(20, 5, (4, 5))).requires_grad_()
    loss = nn.CrossEntropyLoss(reduction="sum")(x, torch.tensor([3, 0, 4, 3]))
    loss.backward()
    yield "cross_entropy loss", loss
    yield "cross_entropy gradient", x.grad
    x = (3 * numbers(20, 5, (4, 5))).requires_grad_()
    loss = nn.MSELoss(reduction="sum")(x, numbers(20, 9, (4, 5))) / 5  # the mean over a row, summed over rows
    loss.backward()
    yield "mean_squared_error loss", loss
    yield "mean_squared_error gradient", x.grad


# Means over ten rows, which layers_test.cpp takes from shards. Rows 2 to 5 are to be ignored: of four ranks, one has no
# other rows.
LABELS = torch.tensor([3, 0, -100, -100, -100, -100, 1, 4, 1, 2])
TARGETS = numbers(50, 9, (10, 5))
PROBABILITIES = (1.5 * TARGETS + 0.5).clamp(0, 1)
WEIGHTS = torch.tensor([0.5, 0, 2, 0.25, 0, 1, 1.5, 0, 3, 0.75])
MEANS = {
    "cross_entropy": (nn.CrossEntropyLoss, {}, LABELS % 5),
    "cross_entropy_smoothed": (nn.CrossEntropyLoss, {"label_smoothing": 0.1}, LABELS % 5),
    "cross_entropy_ignored": (nn.CrossEntropyLoss, {"ignore_index": -100}, LABELS),
    "cross_entropy_ignored_class": (nn.CrossEntropyLoss, {"ignore_index": 1}, LABELS % 5),
    "cross_entropy_both": (nn.CrossEntropyLoss, {"ignore_index": -100, "label_smoothing": 0.25}, LABELS),
    "binary_cross_entropy": (nn.BCEWithLogitsLoss, {}, PROBABILITIES),
    "huber": (nn.HuberLoss, {}, TARGETS),
    "huber_delta": (nn.HuberLoss, {"delta": 0.75}, TARGETS),
    "mean_squared_error": (nn.MSELoss, {}, TARGETS),
}


def mean_lines():
    for name, (criterion, options, targets) in MEANS.items():
        for weighted in (False, True):
            x = (3 * numbers(50, 5, (10, 5))).requires_grad_()
            if weighted:
                rows = criterion(reduction="none", **options)(x, targets).reshape(10, -1).mean(1)
                weights = WEIGHTS.clone()
                if "ignore_index" in options:
                    weights[targets == options["ignore_index"]] = 0
                loss = (weights * rows).sum() / weights.sum()
            else:
                loss = criterion(**options)(x, targets)
            loss.backward()
            yield f"{'weighted_' if weighted else ''}{name} mean", loss
            yield f"{'weighted_' if weighted else ''}{name} mean_gradient", x.grad


def network(kind):
    if kind == "mlp":
        net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    else:
        net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5))
    set_parameters(net, 0.3, 17)
    return net


def batch(kind, step, rows):
    shape, classes = ((rows, 6), 4) if kind == "mlp" else ((rows, 1, 8, 8), 5)
    return numbers(math.prod(shape), 1000 + step, shape), torch.tensor([(i * 7 + step) % classes for i in range(rows)])


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.001),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.001),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
}


def train(kind, optimizer, rows, rank=0, world=1):
    """The mean loss of every step; with more than one rank, averaged over ranks as DDP averages gradients."""
    net = network(kind)
    model = DistributedDataParallel(net) if world > 1 else net
    update = OPTIMIZERS[optimizer](net.parameters())
    losses = []
    for step in range(100):
        x, labels = batch(kind, step, rows)
        own = slice(rank * rows // world, (rank + 1) * rows // world)
        update.zero_grad()
        loss = nn.functional.cross_entropy(model(x[own]), labels[own])
        loss.backward()
        update.step()
        value = loss.detach().clone()
        if world > 1:
            dist.all_reduce(value)
        losses.append(float(value) / world)
    return torch.tensor(losses)


def ddp_rank(rank, results):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    for kind in ("mlp", "cnn"):
        for optimizer in OPTIMIZERS:
            losses = train(kind, optimizer, 10, rank, 2)
            if rank == 0:
                results[f"{kind} {optimizer} ddp"] = losses
    dist.destroy_process_group()


def main():
    lines = [*layer_lines(), *loss_lines(), *mean_lines()]
    for kind in ("mlp", "cnn"):
        for optimizer in OPTIMIZERS:
            lines.append((f"{kind} {optimizer} alone", train(kind, optimizer, 10)))
    with mp.Manager() as manager:
        results = manager.dict()
        mp.spawn(ddp_rank, (results,), nprocs=2)
        lines += sorted(results.items())
    with open("golden.txt", "w") as file:
        file.write(f"# made by generate.py with PyTorch {torch.__version__}\n")
        for name, values in lines:
            flat = values.detach().flatten().tolist()
            file.write(" ".join([name.replace(" ", "."), str(len(flat)), *(f"{v:.17g}" for v in flat)]) + "\n")


if __name__ == "__main__":
    sys.exit(main())
