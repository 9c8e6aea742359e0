#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what `mnist --curve FILE` has written: plot_curve.py FILE PICTURE (needs matplotlib)."""
import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], newline="") as file:
        rows = list(csv.DictReader(file))
    losses = [(int(row["step"]), float(row["loss"])) for row in rows if row["loss"]]
    accuracies = [(int(row["step"]), float(row["test_accuracy"])) for row in rows if row["test_accuracy"]]
    width = max(1, len(losses) // 50)
    smooth = [sum(loss for _, loss in losses[max(0, i - width):i + 1]) / min(i + 1, width + 1) for i in range(len(losses))]
    figure, left = plt.subplots(figsize=(8, 4.5))
    left.plot([step for step, _ in losses], [loss for _, loss in losses], color="0.8", linewidth=0.7, label="loss of a step")
    left.plot([step for step, _ in losses], smooth, color="C0", label=f"mean of {width + 1} steps")
    left.set(xlabel="step", ylabel="loss", ylim=(0, None))
    right = left.twinx()
    right.plot([step for step, _ in accuracies], [accuracy for _, accuracy in accuracies], "o-", color="C1",
               label="test accuracy")
    right.set(ylabel="test accuracy")
    for step, accuracy in accuracies:
        right.annotate(f"{accuracy:.4f}", (step, accuracy), textcoords="offset points", xytext=(0, -14), ha="center")
    handles = [line for axes in (left, right) for line in axes.get_legend_handles_labels()[0]]
    left.legend(handles=handles, loc="center right")
    figure.tight_layout()
    figure.savefig(sys.argv[2], dpi=120)


main()
