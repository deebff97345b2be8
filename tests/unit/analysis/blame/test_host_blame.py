"""Where the steps of typed-in profiles go: rows that add up to the time budget, to the picosecond."""

from __future__ import annotations

from builders import planes
from builders.computed import US, blame, budget
from builders.profiles.planted import cpu, tpu

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN, HostBlame
from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, PARTS


def rows(found: HostBlame) -> dict[tuple[str, str, str], float]:
    """Time in us by part, op and innermost call; parts between steps begin with "-"."""
    shown: dict[tuple[str, str, str], float] = {}
    for part, op, node, ps in zip(
        *(column.tolist() for column in (found.part, found.op, found.node, found.ps)), strict=True
    ):
        name = CATEGORIES[part % BETWEEN]
        call = found.stacks.names[found.stacks.name[node]] if node >= 0 else ""
        shown["-" * (part >= BETWEEN) + name, found.ops[op].name if op >= 0 else "", call] = ps / US
    return shown


def test_idle_time_by_the_innermost_call_and_work_by_op():
    main = "0 600 $train.py:42 load_batch\n100 300 $augment.py:7 crop\n600 10 PjitFunction(f)"
    found = blame(cpu(main, "620 300 dot.1", steps=2, lasting=999))
    assert rows(found) == {
        ("idle_host", "", "$train.py:42 load_batch"): 600,
        ("idle_host", "", "$augment.py:7 crop"): 600,
        ("idle_launch", "", "PjitFunction(f)"): 20,
        ("idle_host", "", ""): 79,  # of a gap that load_batch of the next step covers to 80%
        ("idle_other", "", ""): 99,
        ("compute", "dot.1", ""): 600,
        ("-idle_host", "", ""): 1,
    }


def test_ops_that_run_at_once_share_the_time():
    """Two ops from 0 to 100 us and 50 to 150 us have 75 us each."""
    found = blame(cpu("0 5 PjitFunction(f)", "0 100 dot.1\n50 100 dot.2\n150 849 dot.3", steps=1))
    shown = rows(found)
    assert (shown["compute", "dot.1", ""], shown["compute", "dot.2", ""]) == (75, 75)


def test_the_rows_of_each_part_add_up_to_the_time_budget():
    main = "0 300 $train.py:42 load_batch\n300 10 PjitFunction(f)\n900 90 np.asarray(jax.Array)"
    for text in (cpu(main, "320 500 dot.1"), tpu(main, "310 200 fusion.1\n600 300 fusion.2", modules="310 590 m")):
        found, whole = blame(text), budget(text)
        assert whole is not None
        for part in PARTS:
            assert int(found.ps[found.part == part].sum()) == int(whole.time_ps[part].sum())
            between = found.ps[found.part == part + BETWEEN].sum()
            assert int(between) == int(whole.between_time_ps[:, part].sum())


def test_what_launched_an_op_tells_where_it_comes_from():
    """PyTorch's ops have no source; Python that runs in a native op is host code."""
    main = (
        "0 400 $train.py:9 average\n10 100 aten::mul:PyTorch\n500 300 aten::mm:PyTorch\n"
        "600 80 $traceback.py:217 extract_stack"
    )
    found = rows(blame(planes.host(planes.marked(main, steps=1, length=999)), launches=True))
    assert {key: ps for key, ps in found.items() if key[0] == "compute" or "extract" in key[2]} == {
        ("compute", "aten::mul", "$train.py:9 average"): 100,
        ("compute", "aten::mm", ""): 220,
        ("idle_host", "", "$traceback.py:217 extract_stack"): 80,
    }
    assert sum(ps for (_, op, call), ps in found.items() if not op and call == "$train.py:9 average") == 300


def test_a_profile_without_devices_has_no_rows():
    assert len(blame("").ps) == 0
