#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the all-reduce of lockstep with that of other libraries: blocks of all contenders, in random order.

README.md beside this file says how it measures. Exit status 1 if a result was wrong or a program of ours failed.
"""
import argparse
import collections
import csv
import math
import os
import pathlib
import platform
import random
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BLOCK_SECONDS = 0.035
RESAMPLES = 1000
LAST_WORDS = 400  # of a contender that failed

# Title, our family, the family that it is compared with. A ratio is their time divided by ours.
COMPARISONS = [
    ("threads / the best MPI over shared memory", "lockstep threads", "MPI over shared memory"),
    ("processes with shared memory / the best MPI over it", "lockstep shared_memory", "MPI over shared memory"),
    ("processes with shared memory / our threads", "lockstep shared_memory", "lockstep threads"),
    ("TCP / the best of Gloo", "lockstep tcp", "Gloo"),
    ("TCP / Open MPI over TCP", "lockstep tcp", "Open MPI over TCP"),
    ("TCP / MPICH over TCP", "lockstep tcp", "MPICH over TCP"),
    ("Unix sockets / our TCP", "lockstep unix", "lockstep tcp"),
    ("threads as a fraction of concurrent memcpy", "lockstep threads", "memcpy"),
    ("processes with shared memory as a fraction of concurrent memcpy", "lockstep shared_memory", "memcpy"),
    ("TCP as a fraction of a plain exchange over TCP", "lockstep tcp", "TCP exchange"),
    ("Unix sockets as a fraction of a plain exchange over them", "lockstep unix", "Unix exchange"),
]


class Contender:
    """One group of ranks, started once and asked for blocks by a line on its standard input."""

    def __init__(self, family, variant, command, environment=None):
        self.family, self.variant = family, variant
        self.name = variant if family.startswith("MPI ") else f"{family} {variant}".strip()
        self.command, self.environment = [str(word) for word in command], environment or {}
        self.process, self.trouble, self.pending = None, None, b""
        self.errors = tempfile.TemporaryFile()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                                        stderr=self.errors, env={**os.environ, **self.environment},
                                        start_new_session=True)

    def ask(self, size, iterations, warmup, timeout=60):
        """The median time of an iteration in seconds; None if it failed, and then `trouble` says how."""
        try:
            self.process.stdin.write(f"{size} {iterations} {warmup}\n".encode())
            end = time.monotonic() + timeout
            while True:
                answer = self.read_line(end)
                if answer.startswith("ok "):
                    return float(answer.split()[1])
                if answer == "wrong":
                    self.trouble = "wrong result"
                    break
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            self.trouble = f"failed: {error}"
        self.stop()
        return None

    def read_line(self, end):
        while b"\n" not in self.pending:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("no answer in time")
            piece = os.read(self.process.stdout.fileno(), 4096)
            if not piece:
                raise EOFError("it ended")
            self.pending += piece
        line, self.pending = self.pending.split(b"\n", 1)
        return line.decode(errors="replace").strip()

    def stop(self):
        """Ends all ranks: by the end of their input, or by force if something went wrong."""
        if self.process is None:
            return
        self.process.stdin.close()
        try:
            if self.trouble:
                os.kill(self.process.pid, signal.SIGTERM)  # A launcher then ends its ranks.
                time.sleep(1)
                os.killpg(self.process.pid, signal.SIGKILL)  # The group that start() made.
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stdout.close()
        self.process = None

    def last_words(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace").strip()[-LAST_WORDS:]


def first_cpus_of_cores():
    """One logical processor of each core that we may use."""
    found = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        siblings = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        found.setdefault(siblings.read_text() if siblings.exists() else cpu, cpu)
    return list(found.values())


def variants(program):
    return subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]


def all_contenders(programs, world):
    """Everything that has been built and can be started here."""
    cpus = first_cpus_of_cores()
    bound = world <= len(cpus)
    bind = {"CONTENDER_CPUS": ",".join(map(str, cpus[:world]))} if bound else {}
    contenders = []

    def add(family, variant, command, environment=None):
        contenders.append(Contender(family, variant, command, {**bind, **(environment or {})}))

    def built(name, *needed):
        program = programs / name
        missing = [each for each in (program, *needed) if shutil.which(each) is None]
        if missing:
            print(f"left out: {name} ({missing[0]} is not there)")
        return None if missing else program

    if program := built("peer_lockstep"):
        for line in variants(program):
            transport, topology = line.split()
            add(f"lockstep {transport}", topology, [program, transport, topology, world])
    if program := built("peer_roofline"):
        for kind in variants(program):
            family = {"tcp": "TCP exchange", "unix": "Unix exchange"}.get(kind, "memcpy")
            add(family, "non-temporal" if "nontemporal" in kind else "", [program, kind, world])
    if program := built("peer_openmpi", "mpirun.openmpi"):
        run = ["mpirun.openmpi", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "-n", world]
        run += ["--bind-to", "core"] if bound else ["--oversubscribe", "--bind-to", "none", "--mca",
                                                    "mpi_yield_when_idle", "1"]
        run += ["--mca", "pml", "ob1", "--mca", "btl"]
        add("MPI over shared memory", "Open MPI", [*run, "self,vader", program])
        add("MPI over shared memory", "Open MPI without CMA",
            [*run, "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none", program])
        add("Open MPI over TCP", "", [*run, "self,tcp", "--mca", "btl_tcp_if_include", "lo", program])
    if program := built("peer_mpich", "mpirun.mpich"):
        run = ["mpirun.mpich", "-bind-to", "core" if bound else "none", "-n", world, program]
        add("MPI over shared memory", "MPICH", run)
        # Only a build upon UCX can be told to use TCP within a host.
        if "ch4:ucx" in subprocess.run(["mpichversion"], capture_output=True, text=True, check=False).stdout:
            add("MPICH over TCP", "", run, {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"})
        else:
            print("left out: MPICH over TCP (this build is not one upon UCX)")
    if program := built("peer_gloo"):
        for algorithm in variants(program):
            add("Gloo", algorithm, [program, algorithm, world])
    return contenders


def parse_size(text):
    number, unit = re.fullmatch(r"(\d+)([KMG]iB|)", text).groups()
    return int(number) << {"": 0, "KiB": 10, "MiB": 20, "GiB": 30}[unit]


def size_text(size):
    for shift, unit in ((20, "MiB"), (10, "KiB")):
        if size >> shift and not size % (1 << shift):
            return f"{size >> shift} {unit}"
    return f"{size} B"


def measure(contenders, sizes, blocks, quick, shuffle):
    """{size: {contender: [seconds, one a round]}}, without those that failed."""
    results = {}
    for size in sizes:
        iterations = {}
        for each in [one for one in contenders if not one.trouble]:
            seconds = each.ask(size, 3, 2)
            if seconds is not None and seconds < 0.001 and not quick:
                seconds = each.ask(size, 100, 10)  # The first few say little.
            if seconds is not None:
                iterations[each] = 5 if quick else min(20000, max(5, round(BLOCK_SECONDS / seconds)))
        samples = collections.defaultdict(list)
        for _ in range(blocks):
            order = list(iterations)
            shuffle.shuffle(order)
            for each in order:
                if not each.trouble:
                    samples[each].append(each.ask(size, iterations[each], max(2, iterations[each] // 10)))
        results[size] = {each: times for each, times in samples.items() if None not in times}
        print(f"{size_text(size)}: {len(results[size])} contenders measured", file=sys.stderr)
    return results


def best(by_contender, family):
    """The contender of a family with the least median time."""
    known = [each for each in by_contender if each.family == family]
    return min(known, key=lambda each: statistics.median(by_contender[each]), default=None)


def ratio(theirs, ours, chance):
    """Their median by ours, and a 95 % interval: rounds are drawn anew, the same for both."""
    drawn = []
    for _ in range(RESAMPLES):
        rounds = chance.choices(range(len(ours)), k=len(ours))
        drawn.append(statistics.median([theirs[at] for at in rounds]) / statistics.median([ours[at] for at in rounds]))
    drawn.sort()
    low, high = drawn[int(RESAMPLES * 0.025)], drawn[int(RESAMPLES * 0.975)]
    return statistics.median(theirs) / statistics.median(ours), low, high


def print_times(results):
    for size, by_contender in results.items():
        if not by_contender:
            continue
        print(f"\n{size_text(size)}: median of blocks, least and greatest block, algorithm bandwidth")
        for each in sorted(by_contender, key=lambda one: statistics.median(by_contender[one])):
            times = by_contender[each]
            middle = statistics.median(times)
            print(f"  {each.name:42} {middle * 1e6:11.2f} us  [{min(times) * 1e6:11.2f} {max(times) * 1e6:11.2f}]"
                  f"  {size / middle / 2**30:8.3f} GiB/s")


def print_ratios(results, seed):
    for title, ours, theirs in COMPARISONS:
        pairs = {size: (best(found, ours), best(found, theirs)) for size, found in results.items()}
        pairs = {size: pair for size, pair in pairs.items() if None not in pair}
        if not pairs:
            continue
        print(f"\n{title}: ratio [95 % interval]")
        for size, (our_best, their_best) in pairs.items():
            value = ratio(results[size][their_best], results[size][our_best], random.Random(seed))
            print(f"  {size_text(size):>8}  {value[0]:6.2f} [{value[1]:6.2f} {value[2]:6.2f}]"
                  f"   {our_best.name} against {their_best.name}")
        print(f"  {'':20}" + "".join(f"{size_text(size):>22}" for size in pairs))
        for each in sorted({one for size in pairs for one in results[size] if one.family == ours},
                           key=lambda one: one.variant):
            cells = []
            for size, (_, their_best) in pairs.items():
                if each in results[size]:
                    value = ratio(results[size][their_best], results[size][each], random.Random(seed))
                    cells.append(f"{value[0]:6.2f} [{value[1]:6.2f} {value[2]:6.2f}]")
                else:
                    cells.append("-")
            print(f"  {each.variant:20}" + "".join(f"{cell:>22}" for cell in cells))


def write_csv(file, results, world):
    with open(file, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["world_size", "bytes", "contender", "round", "seconds"])
        for size, by_contender in results.items():
            for each, times in by_contender.items():
                writer.writerows([world, size, each.name, at, seconds] for at, seconds in enumerate(times))


def draw(pyplot, file, results, world):
    """Algorithm bandwidth by bytes: a bold line for the best of a family, thin ones for its members."""
    panels = [("shared memory", [("lockstep threads", "#0072B2", "-"), ("lockstep shared_memory", "#009E73", "-"),
                                 ("MPI over shared memory", "#D55E00", "-"), ("memcpy", "#000000", "--")]),
              ("sockets on one host", [("lockstep tcp", "#0072B2", "-"), ("lockstep unix", "#56B4E9", "-"),
                                       ("Gloo", "#D55E00", "-"), ("Open MPI over TCP", "#E69F00", "-"),
                                       ("MPICH over TCP", "#CC79A7", "-"), ("TCP exchange", "#000000", "--"),
                                       ("Unix exchange", "#777777", ":")])]
    figure, axes = pyplot.subplots(1, 2, figsize=(14, 6.5), constrained_layout=True)
    for axis, (title, families) in zip(axes, panels):
        for family, color, style in families:
            members = {each for found in results.values() for each in found if each.family == family}
            if not members:
                continue

            def line(choose, **look):
                points = [(size, size / statistics.median(found[choose(found)]) / 2**30)
                          for size, found in results.items() if choose(found) in found]
                axis.plot(*zip(*points), color=color, **look)

            for member in members if len(members) > 1 else []:
                line(lambda found, member=member: member, linewidth=0.8, alpha=0.35)
            label = family if len(members) == 1 else f"{family}: best of {len(members)}"
            line(lambda found, family=family: best(found, family), linewidth=2.4, linestyle=style, marker="o",
                 markersize=5, label=label)
        axis.set(title=title, xlabel="bytes per rank", ylabel="algorithm bandwidth, GiB/s", yscale="log")
        axis.set_xscale("log", base=2)
        axis.set_xticks(list(results), [size_text(size) for size in results])
        axis.minorticks_off()
        axis.grid(True, alpha=0.3)
        if axis.lines:
            axis.legend(loc="best", fontsize=10)
    figure.suptitle(f"all-reduce of floats, {world} ranks on one host (higher is better)")
    figure.savefig(file, dpi=120)


def print_conditions(world, contenders):
    packages = ["openmpi-bin", "mpich", "libgloo-dev"]
    cores = len(first_cpus_of_cores())
    print(f"{world} ranks, {cores} cores, Linux {platform.release()}, {len(contenders)} contenders")
    if shutil.which("dpkg-query"):
        query = ["dpkg-query", "--show", "--showformat", "${Package} ${Version}\n", *packages]
        print(", ".join(subprocess.run(query, capture_output=True, text=True, check=False).stdout.splitlines()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--programs", type=pathlib.Path, default=pathlib.Path("build/benchmarks/peers"))
    parser.add_argument("--world", type=int, default=2)
    parser.add_argument("--sizes", default="1KiB,4KiB,64KiB,1MiB,16MiB,64MiB")
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--only", default="", help="a regular expression: contenders whose names match")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="few iterations: to see that it works")
    parser.add_argument("--csv", help="writes every block to this file")
    parser.add_argument("--chart", help="draws a picture (PNG) into this file; needs matplotlib")
    options = parser.parse_args()
    pyplot = None
    if options.chart:
        try:
            import matplotlib
            matplotlib.use("Agg")
            from matplotlib import pyplot
        except ImportError as error:
            parser.error(f"--chart: {error} (Debian's package is python3-matplotlib)")

    contenders = [each for each in all_contenders(options.programs.resolve(), options.world)
                  if re.search(options.only, each.name)]
    print_conditions(options.world, contenders)
    try:
        for each in contenders:
            each.start()  # One after the other: launchers that start at once get into each other's way.
            each.ask(4096, 1, 1)
        results = measure(contenders, [parse_size(size) for size in options.sizes.split(",")], options.blocks,
                          options.quick, random.Random(options.seed))
    finally:
        for each in contenders:
            each.stop()
    print_times(results)
    print_ratios(results, options.seed)
    if options.csv:
        write_csv(options.csv, results, options.world)
    if options.chart:
        draw(pyplot, options.chart, results, options.world)
    failed = [each for each in contenders if each.trouble]
    print()
    for each in failed:
        print(f"{each.name}: {each.trouble}\n  {' '.join(each.command)}\n  {each.last_words()}")
    ours = ("peer_lockstep", "peer_roofline")
    serious = [each for each in failed if each.trouble == "wrong result" or each.command[0].endswith(ours)]
    print(f"{len(contenders) - len(failed)} contenders passed, {len(failed)} failed")
    return 1 if serious or not contenders else 0


if __name__ == "__main__":
    sys.exit(main())
