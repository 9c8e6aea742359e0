#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Contender of compare_steps.py: DistributedDataParallel over gloo, one thread a rank. ddp.py MODEL WORLD

`ROWS ITERATIONS WARMUP` on standard input is answered by `ok SECONDS_OF_A_STEP LOSS`, as peer_steps does.
"""
import os
import socket
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel


def numbers(count, salt, scale, shape):
    scattered = (torch.arange(count, dtype=torch.int64) * 7919 + salt * 104729) % 2003
    return (scale * (scattered.double() / 1001.5 - 1)).float().reshape(shape)


MODELS = {
    "small": (lambda: nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)), (64,)),
    "middle": (lambda: nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(),
                                     nn.Linear(256, 10)), (784,)),
    "cnn": (lambda: nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10)), (1, 28, 28)),
}


def rank_of(rank, name, world, port, cpus):
    torch.set_num_threads(1)
    if len(cpus) >= world:
        os.sched_setaffinity(0, {cpus[rank]})
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    build, shape = MODELS[name]
    net, size = build(), 1
    for extent in shape:
        size *= extent
    count, at = sum(p.numel() for p in net.parameters()), 0
    flat = numbers(count, 17, 0.05, (count,))
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(flat[at:at + p.numel()].reshape(p.shape))
            at += p.numel()
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    lines = os.fdopen(3) if rank == 0 else None
    while True:
        command = torch.zeros(3, dtype=torch.int64)
        if rank == 0:
            words = lines.readline().split()
            command = torch.tensor([int(word) for word in words] if len(words) == 3 else [0, 0, 0])
        dist.broadcast(command, 0)
        rows, iterations, warmup = command.tolist()
        if rows < 1:
            break
        total = rows * world
        x = numbers(total * size, 5, 1, (total, *shape))[rank * rows:(rank + 1) * rows]
        labels = torch.tensor([row * 7 % 10 for row in range(total)])[rank * rows:(rank + 1) * rows]
        for step in range(-warmup, iterations):
            if step == 0:
                dist.barrier()
                begun = time.perf_counter()
            optimizer.zero_grad(set_to_none=False)
            loss = nn.functional.cross_entropy(model(x), labels)
            loss.backward()
            optimizer.step()
        spent = time.perf_counter() - begun
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0:
            print(f"ok {spent / iterations:.9g} {float(mean) / world:.9g}", flush=True)
    dist.destroy_process_group()


def main():
    name, world = sys.argv[1], int(sys.argv[2])
    cpus = [int(cpu) for cpu in os.environ.get("CONTENDER_CPUS", "").split(",") if cpu]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    os.dup2(0, 3, inheritable=True)  # A started process has another standard input.
    mp.start_processes(rank_of, (name, world, port, cpus), nprocs=world, start_method="fork")


if __name__ == "__main__":
    main()
