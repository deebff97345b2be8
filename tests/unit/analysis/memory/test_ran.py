"""Whose memory a recording tells: of the program with most time, over all hosts."""

from __future__ import annotations

from builders.planes import gpu, profile, tpu
from builders.xspace_text import build

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.devices.inventory import devices_of, programs_of_devices
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.analysis.memory.buffers import ProgramRan, programs_ran, unknown_memory

STEP, EVAL = ProgramRan("jit_step(7)", 60, False), ProgramRan("jit_eval(8)", 20, True)


def test_the_program_with_most_time_decides() -> None:
    ran = programs_ran([[EVAL, STEP]])
    assert [(one.name, one.share) for one in ran] == [("jit_step(7)", 0.75), ("jit_eval(8)", 0.25)]
    assert unknown_memory(ran) == (
        "The program that ran 75.0% of the time, jit_step(7), has no HLO in this recording: its memory is unknown."
    )
    assert unknown_memory(programs_ran([[STEP]])) == (
        "The program that ran all the time, jit_step(7), has no HLO in this recording: its memory is unknown."
    )
    for time, when in ((995, "all the time"), (994, "99.4% of the time")):
        ran = programs_ran([[ProgramRan("a", time, False), ProgramRan("b", 1000 - time, True)]])
        assert unknown_memory(ran).split(",")[0] == f"The program that ran {when}"
    assert unknown_memory(programs_ran([[ProgramRan("jit_eval(8)", 90, True), STEP]])) == ""
    assert unknown_memory(programs_ran([])) == ""


def test_the_hlo_of_one_host_is_enough() -> None:
    assert unknown_memory(programs_ran([[STEP], [ProgramRan("jit_step(7)", 60, True)]])) == ""


def found(text: str) -> list[ProgramRan]:
    space = columns.load(build(text))
    programs = hlo_programs(space)
    return list(programs_of_devices(space, devices_of(space, programs), programs))


def test_names_of_programs_without_hlo() -> None:
    core = tpu("0 50 fusion.1\n50 20 fusion.2", program=7)
    assert found(f'{core}\nline 9 "XLA Modules"\n0us +70us "jit_step(7)"') == [
        ProgramRan("jit_step(7)", 70 * 10**6, False)
    ]
    assert found(core) == [ProgramRan("7", 70 * 10**6, False)]
    device = gpu('0 30 gemm {hlo_module="jit_f", program_id=9}\n30 10 other')
    assert found(profile(device)) == [ProgramRan("jit_f(9)", 30 * 10**6, False)]
