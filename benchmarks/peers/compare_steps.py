#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares whole training steps of lockstep with PyTorch's DistributedDataParallel: blocks of both, in random order.

Needs torch for the interpreter named by --python (Debian: python3-torch). Exit status 1 if losses differ.
"""
import argparse
import collections
import csv
import pathlib
import random
import statistics
import subprocess
import sys

import compare

CASES = [("small", 32, "MLP 64-32-10"), ("middle", 128, "MLP 784-512-256-10"),
         ("cnn", 128, "CNN conv 1-32-64, pool, 9216-128-10")]
BLOCK_SECONDS = 0.5


# glibc keeps freed memory then, as lockstep's keep_freed_memory() has it: fewer page faults for whoever frees much.
KEEPING = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}


def best_blas():
    """One thread a rank. Some builds of OpenBLAS do not recognise newer processors, and are several times slower."""
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    has_avx512 = cpuinfo.exists() and " avx512f " in cpuinfo.read_text(encoding="utf-8")
    core = {"OPENBLAS_CORETYPE": "SkylakeX"} if has_avx512 else {}
    return {**core, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def block(contender, rows, iterations, warmup):
    """(seconds of a step, loss of the last one)"""
    contender.process.stdin.write(f"{rows} {iterations} {warmup}\n".encode())
    words = contender.read_line(compare.time.monotonic() + 300).split()
    if len(words) != 3 or words[0] != "ok":
        raise RuntimeError(f"{contender.name}: {' '.join(words)} {contender.last_words()}")
    return float(words[1]), float(words[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--programs", type=pathlib.Path, default=pathlib.Path("build/benchmarks/peers"))
    parser.add_argument("--python", default="/usr/bin/python3", help="an interpreter that has torch")
    parser.add_argument("--world", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv", help="writes every block to this file")
    parser.add_argument("--chart", help="draws a picture (PNG) into this file; needs matplotlib")
    options = parser.parse_args()
    # Whatever the environment asks OpenBLAS for may be for another processor.
    for name in [name for name in compare.os.environ if name.startswith("OPENBLAS_")]:
        del compare.os.environ[name]
    shuffle = random.Random(options.seed)
    cpus = compare.first_cpus_of_cores()
    bind = {"CONTENDER_CPUS": ",".join(map(str, cpus[:options.world]))} if options.world <= len(cpus) else {}
    version = subprocess.run([options.python, "-c", "import torch; print(torch.__version__)"], capture_output=True,
                             text=True, check=True).stdout.strip()
    print(f"{options.world} ranks, {len(cpus)} cores, PyTorch {version}, one thread a rank")
    table, wrong = [], False
    for model, rows, title in CASES:
        ours = [compare.Contender("lockstep", transport,
                                  [options.programs / "peer_steps", model, transport, options.world], bind)
                for transport in ("threads", "tcp")]
        libtorch = options.programs / "peer_libtorch_steps"
        if libtorch.exists():
            ours += [compare.Contender("libtorch by lockstep", transport, [libtorch, model, transport, options.world],
                                       {**bind, **best_blas()}) for transport in ("threads", "tcp")]
        python = [options.python, pathlib.Path(__file__).parent / "ddp.py", model, options.world]
        ddp = compare.Contender("PyTorch DDP", "gloo", python, {**bind, **best_blas()})
        tuned = compare.Contender("PyTorch DDP keeping memory,", "gloo", python, {**bind, **best_blas(), **KEEPING})
        apart = compare.Contender("lockstep", "apart", [options.programs / "peer_steps", model, "apart", options.world], bind)
        everyone = [*ours, apart, ddp, tuned]
        iterations, first = {}, {}
        for each in everyone:
            each.start()
            first[each] = block(each, rows, 1, 0)[1]
            seconds, _ = block(each, rows, 5, 1)
            iterations[each] = max(3, round(BLOCK_SECONDS / seconds))
        samples = collections.defaultdict(list)
        for _ in range(options.blocks):
            order = list(everyone)
            shuffle.shuffle(order)
            for each in order:
                samples[each].append(block(each, rows, iterations[each], 1)[0])
        for each in everyone:
            each.stop()
        print(f"\n{title}, {rows} rows a rank: median of blocks, least and greatest, ratio of DDP's median to it,"
              " and of the faster DDP's")
        faster = min((ddp, tuned), key=lambda each: statistics.median(samples[each]))
        for each in everyone:
            times = samples[each]
            middle = statistics.median(times)
            value, low, high = compare.ratio(samples[ddp], times, random.Random(options.seed))
            other = statistics.median(samples[faster]) / middle
            differs = each is not apart and abs(first[each] - first[ddp]) > 1e-4 * abs(first[ddp])
            wrong = wrong or differs
            print(f"  {each.name:30} {middle * 1e6:12.1f} us [{min(times) * 1e6:12.1f} {max(times) * 1e6:12.1f}]"
                  f"  {value:6.2f} [{low:6.2f} {high:6.2f}] {other:6.2f}  first loss {first[each]:.7g}{' WRONG' if differs else ''}")
            table += [(title, rows, each.name, at, seconds) for at, seconds in enumerate(times)]
        quiet = statistics.median(samples[apart])
        print("  a step over one of ranks apart, without communication: " +
              ", ".join(f"{each.name} {statistics.median(samples[each]) / quiet:.3f}" for each in ours[:2]))
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(["model", "rows_per_rank", "contender", "round", "seconds"])
            writer.writerows(table)
    if options.chart:
        draw(options.chart, table)
    return 1 if wrong else 0


def draw(file, table):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    titles = list(dict.fromkeys(row[0] for row in table))
    figure, axes = pyplot.subplots(1, len(titles), figsize=(4.5 * len(titles), 3.6), constrained_layout=True, sharey=True)
    colors = {"lockstep": "#0072B2", "libtorch": "#009E73", "PyTorch": "#D55E00"}
    for axis, title in zip(axes, titles):
        names = [name for name in dict.fromkeys(row[2] for row in table if row[0] == title) if "apart" not in name]
        medians = [statistics.median(row[4] for row in table if row[0] == title and row[2] == name) * 1e3 for name in names]
        bars = axis.barh(names, medians, color=[colors[name.split()[0]] for name in names])
        axis.bar_label(bars, [f"{value:.3g}" for value in medians], padding=3)
        axis.set(title=title, xlabel="ms a step", xlim=(0, max(medians) * 1.15))
    axes[0].invert_yaxis()
    figure.suptitle("a training step, two ranks, one thread each (lower is better)")
    figure.savefig(file, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
