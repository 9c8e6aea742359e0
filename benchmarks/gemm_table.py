#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the matrix product beside OpenBLAS, each on one thread, and makes a table, a CSV file and a chart of it.

The program measures alternating blocks; this is its output, read. OpenBLAS is told to use AVX-512 where the processor has it.
"""
import argparse
import csv
import os
import pathlib
import re
import subprocess
import sys

LINE = re.compile(r"(float|double) +(\S+) +ours +([\d.]+) +OpenBLAS +([\d.]+) GFLOP/s +ratio ([\d.]+)(.*)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("build/benchmarks/gemm"))
    parser.add_argument("--csv", help="writes all figures to this file")
    parser.add_argument("--chart", help="draws a picture (PNG) into this file; needs matplotlib")
    options = parser.parse_args()
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    # Whatever the environment asks OpenBLAS for is left out: it may be for another processor.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    environment["OPENBLAS_NUM_THREADS"] = "1"
    if cpuinfo.exists() and " avx512f " in cpuinfo.read_text(encoding="utf-8"):
        environment["OPENBLAS_CORETYPE"] = "SkylakeX"
    output = subprocess.run([options.program, "--benchmark_filter=NONE"], env=environment, capture_output=True, text=True,
                            check=True).stdout
    rows = []
    for line in output.splitlines():
        found = LINE.match(line)
        if line.startswith("OpenBLAS kernels") and rows:
            break  # From here on it measures OpenBLAS by its own choice.
        if found:
            rows.append(found.groups())
    if not rows:
        sys.exit("the program compared nothing: it was built without OpenBLAS")
    print("| type | m x n x k / transposed | ours, GFLOP/s | OpenBLAS | ratio |\n|---|---|---|---|---|")
    for kind, shape, ours, theirs, ratio, rest in rows:
        print(f"| {kind} | {shape} | {ours} | {theirs} | {ratio} |{' WRONG' if 'DIFFER' in rest else ''}")
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(["type", "shape", "ours_gflops", "openblas_gflops", "ratio"])
            writer.writerows(row[:5] for row in rows)
    if options.chart:
        draw(options.chart, rows)
    return 1 if any("DIFFER" in row[5] for row in rows) else 0


def draw(file, rows):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, 2, figsize=(13, 7), constrained_layout=True)
    for axis, kind in zip(axes, ("float", "double")):
        of_kind = [row for row in rows if row[0] == kind]
        places = range(len(of_kind))
        axis.barh([place - 0.2 for place in places], [float(row[2]) for row in of_kind], 0.4, color="#0072B2", label="lockstep")
        axis.barh([place + 0.2 for place in places], [float(row[3]) for row in of_kind], 0.4, color="#D55E00", label="OpenBLAS")
        axis.set_yticks(list(places), [f"{row[1]}  ({row[4]})" for row in of_kind])
        axis.invert_yaxis()
        axis.set(title=f"{kind}: m x n x k (ratio)", xlabel="GFLOP/s, one thread (higher is better)")
        axis.legend(loc="lower right")
    figure.savefig(file, dpi=100)


if __name__ == "__main__":
    sys.exit(main())
