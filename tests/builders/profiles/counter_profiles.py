"""Profiles with performance counters, typed in: samples of TPU v6e and v7x, absent counters, odd values.

`python -m builders.profiles.counter_profiles DIRECTORY` writes them, and a run with collectives between slices.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from builders.logdirs import write
from builders.profiles import megascale_profiles
from tpu_profile_plugin.analysis.counters.registers import Register
from tpu_profile_plugin.compat.xprof.counters import LISTED

_CLOCKS = ("count_cycles", "_cycle_count", "_cycle_counter_window")


def v6e_host(device: int = 0) -> str:
    """A chip with a sample of all counters, one of few, and one without cycles; its kernel is named by an op."""
    registers = list(LISTED["v6e"]())
    return _device(
        f'"/device:TPU:{device}" {{device_id={device}, device_type_string="TPU v6 Lite", global_chip_id={device + 4}}}',
        {
            '11 "_counters_" @10us': _events(registers, 3),
            '12 "counters_flash_attention" @40us': _events((r for r in registers if "_sc_" not in r.name), 5),
            '13 "counters_0" @90us': _events(registers[1:40], 7),
        },
        'line 1 "XLA Ops"\n20us +5us later\n10us +5us first_op\n',
    )


def v7x_host() -> str:
    """Two chips: all counters that are listed; only those of die 0, some written as doubles."""
    registers = list(LISTED["v7x"]())
    die_0 = [register for register in registers if "die0_" in register.name]
    return _device(
        '"/device:TPU:0" {device_id=0, device_type_string="TPU v7x"}', {'1 "_counters_" @10us': _events(registers, 3)}
    ) + _device(
        '"/device:TPU:1" {device_id=1, device_type_string="TPU v7x"}',
        {'7 "counters_matmul" @10us': _events(die_0[:300], 11, suffix=".0")},
    )


ODD = """
    plane 1 "/device:TPU:0" {device_id=0, device_type_string="TPU v6 Lite"}
    metadata SHARED {performance_counter_id=3257466888, counter_value=4000}
    line 1 "_counters_" @1us
    0 +5us SHARED
    0 +1us SALU {performance_counter_id=u3257466968, counter_value=-5}
    0 +1us SALU2 {performance_counter_id=u3257466976, counter_value=7, performance_counter_description="text", \
performance_counter_sets="set of the profile"}
    line -3 "counters_negative_id"
    5us +2us CYCLES {performance_counter_id=u3257466888, counter_value=900.5}
    0us +2us CYCLES {performance_counter_id=u3257466888, counter_value=1000.5}
    0us +2us VST {performance_counter_id=u3257467168, counter_value="text"}
    line 5000000001 "kernel"
    0 +5us CYCLES {performance_counter_id=u3257466888, counter_value=u18446744073709551615}
    0 +5us STORE {performance_counter_id=u3257467168, counter_value=nan}
    line 6 "no counters"
    0 +5us op
    plane 2 "/device:TPU:1" {device_type_string="TPU v6 Lite"}
    line 1 "_counters_"
    0 +5us CYCLES {performance_counter_id=u3257466888, counter_value=1000}
    plane 3 "/device:TPU:2" {device_id=2, device_type_string="TPU v5p"}
    line 1 "_counters_"
    0 +5us CYCLES {performance_counter_id=u3257466888, counter_value=1000}
    plane 4 "/device:GPU:0" {device_id=3}
    line 1 "stream"
    0 +5us "SM Cycles" {counter_value=55}
"""
"""Values of every type, values in metadata, ids beyond 32 bits, an unknown chip, a device without an id, a GPU."""


def _device(head: str, samples: dict[str, str], more: str = "") -> str:
    return f"plane {head}\n" + "".join(f"line {line}\n{events}\n" for line, events in samples.items()) + more


def _events(registers: Iterable[Register], factor: int, suffix: str = "") -> str:
    """An event of 20 us per counter; cycles are 100000 or a bit more, other values small and different."""
    lines = []
    for number, register in enumerate(registers):
        value = 100000 + 10 * factor if register.name.endswith(_CLOCKS) else 1 + number * factor % 997
        written = f"{value}{suffix}" if suffix else f"u{value}"
        stats = f"performance_counter_id=u{register.address}, counter_value={written}"
        lines.append(f"{number} +20us C{number % 9} {{{stats}}}")
    return "\n".join(lines)


if __name__ == "__main__":
    runs = {
        "v6e/plugins/profile/1/host_a.xplane.pb": v6e_host(),
        "v6e/plugins/profile/1/host_b.xplane.pb": v6e_host(1),
        "v7x/plugins/profile/1/h.xplane.pb": v7x_host(),
        "megascale/plugins/profile/1/host_a.xplane.pb": megascale_profiles.two_steps(),
        "megascale/plugins/profile/1/host_b.xplane.pb": megascale_profiles.two_steps(120),
    }
    write(Path(sys.argv[1]), runs)
