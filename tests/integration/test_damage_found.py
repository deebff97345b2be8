"""Regressions found by generated damage, each as a small profile in the text notation, requested over HTTP."""

from __future__ import annotations

import gzip

import pytest
from builders.damage import programs
from builders.damage.wire import event, line, named, plane, text
from builders.logdirs import write
from builders.profiles import step_profiles
from builders.programs import buffers
from builders.servers.board import Board
from builders.xspace_text import build

from tpu_profile_plugin.protos import message

LARGEST = 2**63 - 1


def ask(board: Board, logdir, data: bytes | str, tag: str, **query: str):
    write(logdir, {"damage/plugins/profile/d/h.xplane.pb": data})
    return board.get("data", run="damage/d", tag=tag, **query)


def one_instruction(*more: bytes) -> bytes:
    return programs.one(programs.shape(programs.F32), "constant", b"".join(more))


def test_a_constant_of_one_and_a_half_numbers_is_not_shown_as_one(board, logdir):
    floats = text(message("xla.LiteralProto").F32S_FIELD_NUMBER, b"\0\0\x80\x3f\0\0")
    literal = text(message("xla.HloInstructionProto").LITERAL_FIELD_NUMBER, floats)
    profile = buffers.profile(jit_f=one_instruction(literal))
    answer = ask(board, logdir, profile, "graph_viewer", type="short_txt")
    assert (answer.status_code, "n1 = f32[] constant({...})" in answer.text) == (200, True)


def test_a_program_that_does_not_decode_is_named_with_its_file_and_byte(board, logdir):
    data = build(buffers.profile(jit_f=one_instruction()))
    at = data.index(b"\x12\x08constant")
    answer = ask(board, logdir, data[:at] + b"\x12\x7f" + data[at + 2 :], "graph_viewer", type="short_txt")
    assert (answer.status_code, answer.json["error"]["code"]) == (422, "corrupt_profile")
    assert answer.json["error"]["details"] == {"file": "h.xplane.pb", "offset": at + 1}


def test_buffers_that_do_not_decode_are_named_with_their_file_and_byte(board, logdir):
    data = build(buffers.profile(jit_f=one_instruction() + buffers.assignment(buffers.buffer(77, 5, 1))))
    at = data.index(b"\x08\x4d")
    answer = ask(board, logdir, data[:at] + b"\x0a\x4d" + data[at + 2 :], "memory_viewer")
    assert (answer.status_code, answer.json["error"]["code"]) == (422, "corrupt_profile")
    assert answer.json["error"]["details"]["file"] == "h.xplane.pb"
    assert answer.json["error"]["details"]["offset"] > 0


def test_a_comparison_leaves_out_the_memory_of_programs_whose_buffers_do_not_decode(board, logdir):
    case = next(case for case in programs.cases(10) if case.name == "program: not one")
    answer = ask(board, logdir, case.data, "compare", base="damage/d")
    assert answer.status_code == 200
    assert answer.json["memory"]["rowCount"] == 0


def test_module_runs_that_end_before_they_begin_are_shown(board, logdir):
    profile = """
plane 0 "/host:CPU"
  line 1 main
    0us +90us train {_r=1, step_num=1}
    1us +2us "tpu::System::Execute" {_pt=9, _p=1}
plane 1 "/device:TPU:0"
  line 2 "XLA Modules"
    5us +-3us "jit_f(7)"
    9us +2us "jit_f(7)" {_ct=9, _c=1}
  line 3 "XLA Ops"
    9us +1us fusion.1
"""
    answer = ask(board, logdir, profile, "trace_viewer@")
    assert answer.status_code == 200
    assert '"name":"jit_f(7)"' in answer.text


def test_events_that_overflow_time_are_left_out_and_told(board, logdir):
    events = [event(1, 10, LARGEST), event(1, 20, LARGEST)]
    data = plane("/host:CPU", [line("main", events)], [(1, named(1, "a"))])
    rows = ask(board, logdir, data, "profile_contents").json["rows"]
    assert [cell["v"] for cell in rows[0]["c"]][3:9] == [0.0, 0.0, 0.0, None, None, 0.0]
    (problem,) = board.json("run_info", run="damage/d")["problems"]
    assert problem["code"] == "impossible_times"
    assert problem["message"].endswith("and are left out: 2 on main of /host:CPU.")


def test_impossible_times_are_reported(board, logdir):
    def told(profile):
        assert ask(board, logdir, profile, "overview_page").status_code == 200
        (problem,) = board.json("run_info", run="damage/d")["problems"]
        return problem["message"]

    host = f"{step_profiles.worker('w')}\n50000us +-3us strange"
    assert told(host).startswith("1 event has an impossible time")
    device = 'plane 1 "/device:TPU:0" {device_type_string="TPU v4"}\nline 3 Steps\n9us +9223372036854775807 fusion.1'
    assert "1 on Steps of /device:TPU:0" in told(device)


def test_a_damaged_program_is_reported_beside_the_rest(board, logdir):
    profile = build(buffers.profile(jit_f=one_instruction()))
    at = profile.index(b"\x12\x08constant")
    damaged = profile[:at] + b"\x12\x7f" + profile[at + 2 :] + build('plane 2 "/host:CPU"\nline 1 a\n0us +1us b')
    assert ask(board, logdir, damaged, "profile_contents").status_code == 200
    (problem,) = board.json("run_info", run="damage/d")["problems"]
    assert (problem["code"], problem["file"], problem["offset"]) == ("damaged_module", "h.xplane.pb", at + 1)
    assert problem["message"].startswith("HLO module jit_f(1) does not decode: ")


def test_a_small_file_that_decompresses_to_a_huge_one_is_rejected(board, logdir):
    bomb = gzip.compress(b"[" + b" " * (40 << 20), 9)
    write(logdir, {"damage/plugins/profile/d/h.trace.json.gz": bomb})
    status, code, message, details = board.refused("data", run="damage/d", tag="trace_viewer@")
    assert (status, code, details["file"]) == (422, "corrupt_profile", "h.trace.json.gz")
    assert f"{len(bomb)} bytes decompresses to more than 19 MiB" in message


@pytest.mark.parametrize(("name", "read"), [("/device:TPU:", 256), ("/host:", 4096)])
def test_planes_beyond_the_limit_are_not_read(board, logdir, name, read):
    data = b"".join(plane(f"{name}{i}") for i in range(5000)) + plane("/host:CPU", [line("a", [event(1, 0, 1)])])
    write(logdir, {"damage/plugins/profile/d/h.xplane.pb": data})
    (problem,) = board.json("run_info", run="damage/d")["problems"]
    assert (problem["code"], problem["message"]) == (
        "too_many",
        f"The file has 5001 planes; the first {read} are read.",
    )
    assert len(board.json("data", run="damage/d", tag="profile_contents")["rows"]) == read


@pytest.mark.parametrize(
    ("data", "read"),
    [
        (plane("/host:CPU") * 16_384, "The file has 16384 planes; the first 4096 are read."),
        (plane("/host:CPU") * 16_385, None),
        (plane("/host:CPU", [b""] * (1 << 20)), "The file has 1048576 lines; the first 65536 are read."),
        (plane("/host:CPU", [b""] * ((1 << 20) + 1)), None),
    ],
    ids=["planes", "too many planes", "lines", "too many lines"],
)
def test_of_how_many_planes_and_lines_the_first_are_read(board, logdir, data, read):
    write(logdir, {"damage/plugins/profile/d/h.xplane.pb": data})
    status = ask(board, logdir, data, "profile_contents").status_code
    (problem,) = board.json("run_info", run="damage/d")["problems"]
    if read is None:
        assert (status, problem["code"]) == (422, "corrupt_profile")
        assert problem["message"].startswith("too many entries in X")
    else:
        assert (status, problem["code"], problem["message"]) == (200, "too_many", read)


def test_lines_beyond_the_limit_are_not_read(board, logdir):
    many = 65_537
    data = plane("/host:CPU", [line("", [event(1, 5, 1)])] * many, [(1, named(1, "a"))])
    write(logdir, {"damage/plugins/profile/d/h.xplane.pb": data})
    (problem,) = board.json("run_info", run="damage/d")["problems"]
    assert (problem["code"], problem["message"]) == (
        "too_many",
        f"The file has {many} lines; the first 65536 are read.",
    )
    assert b'"total_events":65536' in board.get("data", run="damage/d", tag="trace_viewer@", format="columns").data


def test_a_buffer_of_an_instruction_without_a_name_is_drawn(board, logdir):
    assigned = buffers.assignment(
        buffers.buffer(1, 1 << 20, 99),
        buffers.allocation(0, 1 << 20, [(1, 0, 1 << 20)]),
        buffers.trace("alloc 1 n", "free 1 n"),
    )
    profile = buffers.profile(jit_f=one_instruction() + assigned)
    answer = ask(board, logdir, profile, "memory_viewer", view_memory_allocation_timeline="1")
    assert (answer.status_code, answer.text.count("<rect")) == (200, 2)
