# SPDX-License-Identifier: MIT
"""Rank 1 of 2, written from docs/wire.md alone: joins, adds [10, 20, 30, 40] by a naive all-reduce, prints the sums.

Usage: wire_peer.py HOST PORT SECRET
"""
import hashlib
import hmac
import os
import socket
import struct
import sys

HEADER = struct.Struct("<4sBBBBB3xi8sQQQ")


def frame(kind, payload=b"", operation=0, reduction=0, element=0, topology=b"", sequence=0, elements=0):
    return HEADER.pack(b"LKST", 1, kind, operation, reduction, element, 0, topology, sequence, elements,
                       len(payload)) + payload


def read_exactly(connection, count):
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            sys.exit("the other side has hung up")
        data += piece
    return data


def read_frame(connection, kind):
    fields = HEADER.unpack(read_exactly(connection, HEADER.size))
    payload = read_exactly(connection, fields[-1])
    if fields[:3] != (b"LKST", 1, kind):
        sys.exit(f"frame {fields} instead of kind {kind}: {payload!r}")
    return fields, payload


def call(address, role, job, secret, own_address=""):
    connection = socket.create_connection(address, timeout=20)
    hello = struct.pack("<iiBQ", 1, 2, role, job) + own_address.encode()
    challenge = os.urandom(16)
    connection.sendall(frame(1, hello) + frame(6, challenge))
    _, answer = read_frame(connection, 7)

    def proof(speaker):
        words = b"lockstep 1 " + bytes([speaker]) + challenge + answer[:16] + hello
        return hmac.new(secret, words, hashlib.sha256).digest()

    if not hmac.compare_digest(answer[16:], proof(1)):
        sys.exit("rank 0 does not know the secret")
    connection.sendall(frame(7, proof(2)))
    return connection


def main():
    address, secret = (sys.argv[1], int(sys.argv[2])), sys.argv[3].encode()
    listener = socket.create_server(("127.0.0.1", 0))
    own_address = "127.0.0.1:%d" % listener.getsockname()[1]
    control = call(address, 1, 77, secret, own_address)
    _, welcome = read_frame(control, 2)
    session, = struct.unpack_from("<Q", welcome)
    if welcome[8:].split(b"\n")[1].decode() != own_address:
        sys.exit(f"welcome {welcome!r} lacks {own_address}")
    data = call(address, 2, session, secret)
    read_frame(data, 2)
    values = struct.pack("<4f", 10, 20, 30, 40)
    data.sendall(frame(3, values, operation=1, reduction=1, element=1, topology=b"naive", sequence=0, elements=4))
    fields, sums = read_frame(data, 3)
    if fields[3:6] != (1, 1, 1) or fields[8:10] != (0, 4):
        sys.exit(f"another call: {fields}")
    print(*struct.unpack("<4f", sums))
    control.sendall(frame(5))


main()
