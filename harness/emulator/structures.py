"""The structures of `harness/emulator/runtime/launch.h`."""

import ctypes

MAXIMUM_FINDINGS = 256
"""Findings of a launch that are kept: `MAXIMUM_FINDINGS` of `emulator/runtime/launch.h`."""
MESSAGE_BYTES = 192


class CMemoryRange(ctypes.Structure):
    """`MemoryRange`."""

    _fields_ = (("start", ctypes.c_uint64), ("bytes", ctypes.c_uint64))


class CKernel(ctypes.Structure):
    """`Kernel`."""

    _fields_ = (
        ("entry", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("warp_size", ctypes.c_int32),
        ("argument_count", ctypes.c_int32),
        ("argument_bytes", ctypes.POINTER(ctypes.c_uint32)),
        ("shared_array_count", ctypes.c_int32),
        ("shared_arrays", ctypes.POINTER(CMemoryRange)),
        ("dynamic_offset", ctypes.c_int64),
        ("constant_count", ctypes.c_int32),
        ("constants", ctypes.POINTER(CMemoryRange)),
    )


class CFinding(ctypes.Structure):
    """`Finding`."""

    _fields_ = (
        ("kind", ctypes.c_int32),
        ("site", ctypes.c_int32),
        ("thread", ctypes.c_int32),
        ("lane", ctypes.c_int32),
        ("warp", ctypes.c_int32),
        ("workgroup", ctypes.c_uint32 * 3),
        ("count", ctypes.c_uint64),
        ("message", ctypes.c_char * MESSAGE_BYTES),
    )


class CLaunchOutcome(ctypes.Structure):
    """`LaunchOutcome`."""

    _fields_ = (
        ("workgroups", ctypes.c_uint64),
        ("collectives", ctypes.c_uint64),
        ("accesses", ctypes.c_uint64),
        ("clamped", ctypes.c_uint64 * 4),
        ("finding_count", ctypes.c_int32),
        ("signal", ctypes.c_int32),
        ("differs", ctypes.c_int32),
        ("unused", ctypes.c_int32),
        ("differing_address", ctypes.c_uint64),
        ("findings", CFinding * MAXIMUM_FINDINGS),
    )


class CLaunchOptions(ctypes.Structure):
    """`LaunchOptions`."""

    _fields_ = (
        ("processes", ctypes.c_int32),
        ("checks_within_warps", ctypes.c_int32),
        ("order_count", ctypes.c_int32),
        ("unused", ctypes.c_int32),
        ("orders", ctypes.POINTER(ctypes.c_uint64)),
    )


class CLaunchRecord(ctypes.Structure):
    """`LaunchRecord` of `runtime/registry.h`."""

    _fields_ = (
        ("kernel", ctypes.c_void_p),
        ("refused", ctypes.c_int32),
        ("unused", ctypes.c_int32),
        ("outcome", CLaunchOutcome),
    )
