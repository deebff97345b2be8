"""What generated damage brought to light, each as a small profile typed in, asked for over HTTP."""

from __future__ import annotations

from builders import buffers, hlo_parts
from builders.board import Board
from builders.damage.wire import event, line, named, plane
from builders.logdirs import write
from builders.xspace_text import build

LARGEST = 2**63 - 1


def ask(board: Board, logdir, data: bytes | str, tag: str, **query: str):
    write(logdir, {"damage/plugins/profile/d/h.xplane.pb": data})
    return board.get("data", run="damage/d", tag=tag, **query)


def one_instruction(*more: bytes) -> bytes:
    body = hlo_parts.instruction("n", "constant", 1, hlo_parts.shape(hlo_parts.F32), more=b"".join(more))
    return hlo_parts.program("jit_f", hlo_parts.computation("main", 1, [body], 1), entry=1)


def test_a_constant_of_two_and_a_half_numbers_shows_the_whole_ones(board, logdir):
    literal = hlo_parts.text(8, hlo_parts.shape(hlo_parts.F32, 2)[:0] + hlo_parts.text(8, b"\0\0\x80\x3f\0\0"))
    profile = buffers.profile(jit_f=one_instruction(literal))
    answer = ask(board, logdir, profile, "graph_viewer", type="short_txt")
    assert (answer.status_code, "constant(1)" in answer.text) == (200, True)


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


def test_events_longer_than_time_are_counted(board, logdir):
    events = [event(1, 10, LARGEST), event(1, 20, LARGEST)]
    data = plane("/host:CPU", [line("main", events)], [(1, named(1, "a"))])
    rows = ask(board, logdir, data, "profile_contents").json["rows"]
    assert [cell["v"] for cell in rows[0]["c"]][3:9] == [2.0, 1.0, 0.0, 0.0, float(LARGEST - 10), float(LARGEST - 10)]
