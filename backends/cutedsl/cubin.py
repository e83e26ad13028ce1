"""Reads a kernel's registers and stack from a cubin: an ELF file with NVIDIA's ``.nv.info`` records.

The record numbers are not documented; they were read off cubins of CUDA 12 and 13 and agree with `cuobjdump -res-usage`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

SIZED = 0x04  # record format: attribute, 16-bit size, payload
REGCOUNT, FRAME_SIZE = 0x2F, 0x11  # payload: symbol, value


@dataclass(frozen=True, slots=True)
class Resources:
    """Registers of each thread at launch, and bytes of its stack frame (0: nothing was spilled)."""

    registers: int
    stack_bytes: int


def resources(cubin: bytes) -> Resources | None:
    """The largest use of any kernel in ``cubin``; None where the file says nothing."""
    info = _section(cubin, b".nv.info")
    if info is None:
        return None
    found: dict[int, int] = {}
    at = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form != SIZED:
            continue  # the other formats keep their value in the 16 bits
        if attribute in (REGCOUNT, FRAME_SIZE) and size >= 8:
            found[attribute] = max(found.get(attribute, 0), struct.unpack_from("<II", info, at)[1])
        at += size
    return Resources(found[REGCOUNT], found.get(FRAME_SIZE, 0)) if REGCOUNT in found else None


def _section(elf: bytes, name: bytes) -> bytes | None:
    """The content of a section of a 64-bit little-endian ELF file."""
    if elf[:6] != b"\x7fELF\x02\x01":
        return None
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    entry, count, strings = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, table + entry * i) for i in range(count)]
    names = headers[strings][4]
    for header in headers:
        start = names + header[0]
        if elf[start : elf.index(b"\0", start)] == name:
            return elf[header[4] : header[4] + header[5]]
    return None
