"""Ops that move data: what counts as such, in fusions and by category, and the share that makes it a finding."""

from __future__ import annotations

import pytest
from builders.answers import answer, rows
from builders.profiles.findings import cpu, evidence, gpu, told, tpu, window
from builders.programs.hlo import op, program

from tpu_profile_plugin.analysis.findings.places import cell, most_in
from tpu_profile_plugin.tools.ops.hlo_stats import TOOL as HLO_STATS

OF = "f32[64,128]{1,0}"
LINE = {"source_file": "/home/me/model.py", "source_line": 7, "op_name": "jit(f)/gather"}


def module() -> bytes:
    """A gather in a fusion, a transposing fusion that computes more than it moves, a dot in a fusion, a copy."""
    gathered = [
        op("g.x", "parameter", OF),
        op("g.i", "parameter", "s32[64,1]{1,0}", parameter_number=1),
        op("g.one", "constant", "s32[]"),
        op("g.ones", "broadcast", "s32[64,1]{1,0}", "g.one"),
        op("g.next", "add", "s32[64,1]{1,0}", "g.i", "g.ones"),
        op("gather.1", "gather", OF, "g.x", "g.next"),
        op("g.cast", "convert", "bf16[64,128]{1,0}", "gather.1"),
    ]
    computed = [
        op("c.x", "parameter", OF),
        op("c.exp", "exponential", OF, "c.x"),
        op("c.t", "transpose", "f32[128,64]{1,0}", "c.exp"),
    ]
    product = [
        op("d.x", "parameter", OF),
        op("d.y", "parameter", "f32[128,64]{1,0}", parameter_number=1),
        op("d.dot", "dot", "f32[64,64]{1,0}", "d.x", "d.y"),
        op("d.t", "transpose", "f32[64,64]{1,0}", "d.dot"),
    ]
    entry = [
        op("x", "parameter", OF),
        op("i", "parameter", "s32[64,1]{1,0}", parameter_number=1),
        op("gather_fusion", "fusion", "bf16[64,128]{1,0}", "x", "i", called=["gathered"], fusion_kind="kLoop", **LINE),
        op("exp_fusion", "fusion", "f32[128,64]{1,0}", "x", called=["computed"], fusion_kind="kLoop"),
        op("copy.3", "copy", OF, "x"),
        op(
            "dot_fusion", "fusion", "f32[64,64]{1,0}", "copy.3", "exp_fusion", called=["product"], fusion_kind="kOutput"
        ),
    ]
    return program(entry, gathered=gathered, computed=computed, product=product)


def test_zeros_that_a_scatter_fills() -> None:
    entry = [
        op("zero", "constant", "f32[]"),
        op("rows", "parameter", "f32[4,64]{1,0}"),
        op("ids", "parameter", "s32[4]{0}", parameter_number=1),
        op("zeros.1", "broadcast", "f32[9000,64]{1,0}", "zero", **LINE),
        op("scatter.2", "scatter", "f32[9000,64]{1,0}", "zeros.1", "ids", "rows", **LINE),
    ]
    found = told("data_movement", cpu([("zeros.1", 50), ("scatter.2", 10)], proto=program(entry)))
    assert found["title"].endswith("most of it in zeros.1 (model.py:7): zeros for the dense gradient of a table")
    assert found["advice"].startswith("Zeros of the whole array are made for values that a scatter puts")


def test_sorting_moves_data_as_well() -> None:
    entry = [op("x", "parameter", "f32[9000]{0}"), op("sort.1", "sort", "f32[9000]{0}", "x", **LINE)]
    found = told("data_movement", cpu([("sort.1", 60)], proto=program(entry)))
    assert found["title"] == "Rearranging data takes 60.0% of the step, most of it in sort.1 (model.py:7): sort"
    assert found["advice"].startswith("Sorting everything is needed for few results")


def test_a_gather_takes_most_of_the_time() -> None:
    profile = cpu([("gather_fusion", 50), ("copy.3", 10), ("exp_fusion", 20), ("dot_fusion", 15)], proto=module())
    found = told("data_movement", profile)
    # 60 of 95 us move data, of a step of 100 us.
    assert (
        found["title"] == "Rearranging data takes 60.0% of the step, most of it in gather_fusion (model.py:7): gather"
    )
    assert (found["saving_ps_per_step"], found["share"], found["confidence"]) == (60_000_000, 0.6, "high")
    shown = evidence(found)
    assert shown["Ops that rearrange data, of the time of all ops of known work"][0] == pytest.approx(100 * 60 / 95)
    assert shown["Matrix products, of the same time"][0] == pytest.approx(100 * 15 / 95)
    assert shown["Kinds of these ops"] == ("gather 83%, copy 17%", "", "")
    assert shown["Self time of gather_fusion, all runs on h0"] == (100.0, "us", "hlo_stats")
    assert shown["Its framework op"] == ("jit(f)/gather", "", "hlo_stats")
    assert shown["Its source line"] == ("model.py:7", "", "hlo_stats")
    assert window(found) == {"host": "h0", "window": "0,100000000", "find": "gather_fusion"}
    assert found["advice"].startswith("Read and write contiguous blocks")
    # The page of the link has the same numbers, in the row that it marks.
    queries = {one["query"]["row"] for one in found["evidence"] if one["tool"] == "hlo_stats"}
    assert queries == {"hlo_op_name~gather_fusion;program_id~5"}
    columns = "hlo_op_name", "program_id", "total_self_time", "busy_share"
    page = {
        tuple(row[:2]): row[2:] for row in rows(answer(HLO_STATS, profile, page=True, backend="auto")["ops"], *columns)
    }
    assert page["gather_fusion", "5"] == [100.0, pytest.approx(100 / 190)]
    share = shown["Busy share of gather_fusion"][0]
    assert share == pytest.approx(100 * 100 / 190)


@pytest.mark.parametrize(
    ("gather", "exp", "dot", "finds"),
    [
        (10, 7, 3, True),
        (10, 8, 3, False),  # less than half moves data
        (12, 5, 4, True),
        (12, 4, 4, False),  # matrix products take a fifth
        (25, 15, 60, True),  # a quarter of the step, whatever else it does
        (24, 16, 60, False),
    ],
)
def test_a_quarter_of_the_step_or_half_of_the_time_of_a_program_that_does_little_else(
    gather: int, exp: int, dot: int, finds: bool
) -> None:
    ops = [("gather_fusion", gather), ("exp_fusion", exp), ("dot_fusion", dot)]
    found = told("data_movement", cpu(ops, proto=module()))
    assert ("share" in found) is finds
    if not finds:
        assert found["reason"].startswith(
            f"Ops that rearrange data take {100 * gather / (gather + exp + dot):.1f}% of the ops' time "
            f"({gather}.0% of the step)"
        )


def whole_buffer(part: str) -> bytes:
    """A loop's fusion that selects, shifts or pads a whole buffer, of which `part` is computed with a tanh."""
    buffer = "f32[64,128]{1,0}"
    inside = [
        op("b", "parameter", buffer),
        op("r", "parameter", part, parameter_number=1),
        op("t", "tanh", part, "r"),
        op("s", "slice", "f32[48,128]{1,0}", "b"),
        op("joined", "concatenate", buffer, "s", "t"),
    ]
    entry = [
        op("x", "parameter", buffer),
        op("y", "parameter", part, parameter_number=1),
        op("shift_fusion", "fusion", buffer, "x", "y", called=["shift"], fusion_kind="kLoop"),
    ]
    return program(entry, shift=inside)


@pytest.mark.parametrize(("part", "finds"), [("f32[15,128]{1,0}", True), ("f32[16,128]{1,0}", False)])
def test_arithmetic_on_less_than_a_quarter_of_the_result_does_not_count(part: str, finds: bool) -> None:
    found = told("data_movement", cpu([("shift_fusion", 40)], proto=whole_buffer(part)))
    assert ("share" in found) is finds
    if finds:
        assert found["title"].endswith("most of it in shift_fusion: concatenate")
        assert found["advice"].startswith("Write only the part that changes into the existing buffer")


@pytest.mark.parametrize(("gather", "copy", "finds"), [(30, 30, True), (30, 31, False)])
def test_copies_in_the_same_layout_are_another_rules(gather: int, copy: int, finds: bool) -> None:
    found = told("data_movement", cpu([("gather_fusion", gather), ("copy.3", copy)], proto=module()))
    assert ("share" in found) is finds
    if not finds:
        assert found["reason"] == "Ops that rearrange data take 61.0% of the step; most are copies of whole buffers."


@pytest.mark.parametrize(("last", "finds"), [(6, True), (7, False)])
def test_half_of_it_one_kind_of_op_at_one_line(last: int, finds: bool) -> None:
    entry = [
        op("x", "parameter", OF),
        op("gather.1", "gather", OF, "x"),
        op("transpose.1", "transpose", "f32[128,64]{1,0}", "gather.1"),
        op("sort.1", "sort", "f32[128,64]{1,0}", "transpose.1"),
        op("dot.1", "dot", "f32[64,64]{1,0}", "gather.1", "sort.1"),
    ]
    ops = [("gather.1", 13), ("transpose.1", 7), ("sort.1", last), ("dot.1", 60)]
    assert ("share" in told("data_movement", cpu(ops, proto=program(entry)))) is finds


def test_ops_that_take_little_of_the_step_are_left_alone() -> None:
    found = told("data_movement", cpu([("gather_fusion", 4)], proto=module()))
    assert found["reason"] == (
        "Ops that rearrange data take 100.0% of the ops' time (4.0% of the step), matrix products 0.0%."
    )


def test_without_programs_nothing_is_known_on_cpus() -> None:
    found = told("data_movement", cpu([("gather_fusion", 90)]))
    assert (found["reason"], found["state"]) == ("No ops with known work recorded.", "unknown")


def shuffle(movement: int, rest: int, product: int = 0) -> str:
    ops = [
        ("%gather.1 = f32[8] gather()", "gather", movement),
        ("%fusion.1 = f32[8] fusion()", "loop fusion", rest),
        ("%dot.1 = f32[8] fusion()", "convolution fusion", product),
        ("%copy-done.1 = f32[8] copy-done()", "copy-done", 10),
    ]
    return tpu([one for one in ops if one[2]])


@pytest.mark.parametrize(
    ("movement", "rest", "product", "share"),
    [(25, 15, 50, 0.25), (24, 16, 50, None), (45, 45, 0, 0.45), (24, 25, 0, None)],
)
def test_tpus_by_category(movement: int, rest: int, product: int, share: float | None) -> None:
    found = told("data_movement", shuffle(movement, rest, product))
    assert found.get("share") == share
    if share:
        assert found["title"].endswith("of the step, most of it in gather.1: gather")
        assert found["advice"].endswith("On TPUs the innermost dimension should be a multiple of 128.")
        assert window(found) == {"host": "h0", "window": f"0,{2 * movement}000000", "find": "gather.1"}


def test_gpus_by_their_programs_and_tensorflow_by_the_type_of_the_op() -> None:
    kernels = [("gather_kernel", "gather_fusion", 70), ("gemm", "dot_fusion", 10)]
    found = told("data_movement", gpu(kernels, proto=module(), facts='device_vendor="Nvidia"'))
    assert (
        found["title"]
        == "Rearranging data takes 87.5% of the recording, most of it in gather_fusion (model.py:7): gather"
    )
    assert found["advice"].startswith("Read and write contiguous blocks")
    lines = ['plane 3 "/device:GPU:0"', 'line 1 "Stream #1"']
    lines += [f'{100 * i}us +80us kernel {{tf_op="model/t:Transpose"}}' for i in range(3)]
    found = told("data_movement", "\n".join(lines))
    assert found["title"].endswith("most of it in model/t/kernel: Transpose")
    assert found["advice"].startswith("Change the order of dimensions")


def test_names_with_separators_of_addresses() -> None:
    assert cell("hlo_op_name", "dot;a,b~c") == r"hlo_op_name~dot\;a\,b\~c"


def test_only_what_has_more_than_half_is_most():
    assert most_in("copy.1", 0.51) == ", most of it in copy.1"
    assert most_in("copy.1", 0.5) == "; the op copy.1 has the largest part, 50%"
    assert most_in("gloo", 0.3, known="collective") == "; the collective gloo has the largest part, 30%"
