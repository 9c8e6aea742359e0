# SPDX-License-Identifier: MIT
"""What is in a checkpoint, read with numpy alone: python3 read_checkpoint.py FILE"""
import json
import sys

import numpy

TYPES = {"F32": "<f4", "F64": "<f8", "I64": "<i8"}

with open(sys.argv[1], "rb") as file:
    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    data = file.read()
texts = header.pop("__metadata__", {})
for name, tensor in header.items():
    begin, end = tensor["data_offsets"]
    array = numpy.frombuffer(data[begin:end], TYPES[tensor["dtype"]]).reshape(tensor["shape"])
    print(f"{name:40} {tensor['dtype']} {str(array.shape):12} mean {array.mean():+.6f}")
print("texts:", texts)

# The digest that programs print of their parameters, which come first: FNV-1a.
width = int(next(iter(header.values()))["dtype"][1:]) // 8
digest = 0xCBF29CE484222325
for byte in data[:int(texts["parameters"]) * width]:
    digest = (digest ^ byte) * 0x100000001B3 % 2**64
print(f"parameters: {digest:016x}")
