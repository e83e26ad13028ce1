"""Reads a kernel's registers and stack from a cubin: an ELF file with NVIDIA's ``.nv.info`` records, and its instructions.

The numbers of records and instructions are not documented; they were read off cubins of CUDA 12 and 13 and agree with
`cuobjdump -res-usage` and `-sass`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

SIZED = 0x04  # record format: attribute, 16-bit size, payload
REGCOUNT, FRAME_SIZE = 0x2F, 0x11  # payload: symbol, value
INSTRUCTION = 16  # bytes, since sm_70; the opcode is in the lowest 12 bits
USETMAXREG = 0x9C8  # what setmaxnreg becomes on sm_90; the number of registers is in bits 32 to 63


@dataclass(frozen=True, slots=True)
class Resources:
    """Registers of each thread at launch, and bytes of its stack frame (0: nothing was spilled)."""

    registers: int
    stack_bytes: int


def resources(cubin: bytes) -> Resources | None:
    """The largest use of any kernel in ``cubin``; None where the file says nothing."""
    info = next((content for name, content in _sections(cubin) if name == b".nv.info"), None)
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


def register_requests(cubin: bytes) -> tuple[int, ...]:
    """The numbers of registers that kernels in ``cubin``, for sm_90, change to while they run, in the order of the code."""
    texts = (content for name, content in _sections(cubin) if name.startswith(b".text."))
    words = (
        struct.unpack_from("<Q", text, at)[0] for text in texts for at in range(0, len(text), INSTRUCTION)
    )
    return tuple(word >> 32 for word in words if word & 0xFFF == USETMAXREG)


def _sections(elf: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The names and contents of the sections of a 64-bit little-endian ELF file; none of another file."""
    if elf[:6] != b"\x7fELF\x02\x01":
        return
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    entry, count, strings = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, table + entry * i) for i in range(count)]
    names = headers[strings][4]
    for header in headers:
        start = names + header[0]
        yield elf[start : elf.index(b"\0", start)], elf[header[4] : header[4] + header[5]]
