"""Runs with collectives between slices: a TensorCore that sends and receives, its program, a MegaScale event."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from builders.programs import hlo
from tpu_profile_plugin.protos import message

MODULE = "jit_step"


@dataclass(frozen=True)
class Transfer:
    """One collective: its rendezvous, type, size in f32, and participants (0: not recorded, 1: pairs)."""

    rendezvous: str
    kind: str
    floats: int
    group: int


def attributes(**values: str) -> object:
    """Frontend attributes of an instruction."""
    made = message("xla.FrontendAttributes")()
    for key, value in values.items():
        made.map[key] = value
    return made


def program(transfers: Sequence[Transfer]) -> bytes:
    """A program with send, send-done, recv and recv-done of each transfer, numbered from 0."""
    ops = [hlo.op("t", "after-all", "token[]")]
    for i, one in enumerate(transfers):
        of = f"f32[{one.floats}]{{0}}"
        named = attributes(_xla_host_transfer_rendezvous=one.rendezvous, _xla_megascale_transfer_type=one.kind)
        facts = {"channel_id": i + 1, "is_host_transfer": True}
        ops += [
            hlo.op(f"p.{i}", "iota", of, dimensions=[0]),
            hlo.op(f"send.{i}", "send", [of, "u32[]", "token[]"], f"p.{i}", "t", frontend_attributes=named, **facts),
            hlo.op(f"send-done.{i}", "send-done", "token[]", f"send.{i}", **facts),
            hlo.op(f"recv.{i}", "recv", [of, "u32[]", "token[]"], "t", frontend_attributes=named, **facts),
            hlo.op(f"recv-done.{i}", "recv-done", [of, "token[]"], f"recv.{i}", **facts),
        ]
    ops.append(hlo.op("out", "tuple", ["token[]"], "t"))
    shape = {"result": hlo.shape(["token[]"])}
    return hlo.program(ops, module=MODULE, more={"host_program_shape": message("xla.ProgramShapeProto")(**shape)})


def participants(group: int) -> str:
    """The stat with the participants of a collective."""
    info = message("tensorflow.profiler.DcnCollectiveInfoProto")()
    if group == 1:
        info.one_to_one_groups.add().destination.slice_id = 1
    elif group:
        endpoints = info.endpoint_groups.add().endpoints
        for slice_id in range(group):
            endpoints.add(slice_id=slice_id)
    return f"dcn_collective_info=0x{info.SerializeToString().hex()}"


def host(
    transfers: Sequence[Transfer], runs: Sequence[tuple[int, int]], events: Sequence[str], more: Sequence[str] = ()
) -> str:
    """A host: `runs` are begin and duration of the module in us, `events` lines such as "3us +1us send.0"."""
    lines = [hlo.metadata_plane(**{MODULE: (5, program(transfers))}), 'plane 1 "/device:TPU:0"']
    names = {}
    for i, one in enumerate(transfers):
        for kind in ("send", "send-done", "recv", "recv-done"):
            attribute = "" if kind.endswith("done") else f' _xla_host_transfer_rendezvous="{one.rendezvous}"'
            name = names[f"{kind}.{i}"] = json.dumps(f"%{kind}.{i} = x{attribute}")
            info = f", {participants(one.group)}" if one.group and kind == "send" else ""
            lines.append(f'metadata {name} {{hlo_category="host {kind}"{info}}} display="{kind}.{i}"')
    lines += ['line 1 "XLA Modules" @1us', *(f'{begin}us +{length}us "{MODULE}(5)"' for begin, length in runs)]
    named = [line.rsplit(" ", 1) for line in events]
    lines += ['line 2 "XLA Ops" @1us', *(f"{when} {names[name]}" for when, name in named)]
    lines += ['plane 2 "/host:CPU"', 'line 1 "main"', '0 +1us "MegaScale: Receive"', *more]
    return "\n".join(lines)


def copies(executions: Sequence[tuple[str, int, int]], device: int = 200005) -> list[str]:
    """The plane of the runtime: per execution (rendezvous, begin, end in us) two copies each way."""
    lines = ['plane 3 "/device:CUSTOM:Megascale Trace"', 'line 1 "graphs" @1us']
    for number, (name, begin, end) in enumerate(executions):
        key = f'graph_key="device_{device}_gid_{name}$1^i{number}x"'
        lines.append(f'{begin}us +{end - begin}us "device_{device}_gid_{name}" {{{key}}}')
        for way, at in (("DeviceToHost", begin + 1), ("HostToDevice", end - 12)):
            for action in (0, 1):
                lines.append(f'{at + 2 * action}us +500ns "{way} START" {{{key}, action_index={action}}}')
                lines.append(f'{at + 2 * action + 1}us +500ns "{way} END" {{{key}, action_index={action}}}')
    return lines


TRANSFERS = (
    Transfer("all_reduce_1", "ALL_REDUCE", 5000, 4),
    Transfer("gather_2", "ALL_GATHER", 2_000_000, 8),
    Transfer("pairs_3", "ONE_TO_ONE", 100, 1),
    Transfer("unknown_4", "ALL_TO_ALL", 64, 0),
)


def two_steps(late_us: int = 0) -> str:
    """Two runs of a module: collectives that overlap, one without slack, one that is cut at the end."""
    events = []
    for begin in (0, 2000):
        events += [
            f"{begin + 10}us +3us send.0",
            f"{begin + 14}us +1us recv.0",
            f"{begin + 20}us +40us send.1",
            f"{begin + 61}us +2500ns recv.1",
            f"{begin + 100}us +5us send-done.0",
            f"{begin + 300 + late_us}us +150us recv-done.0",
            f"{begin + 500}us +6us send-done.1",
            f"{begin + 900 + late_us}us +30us recv-done.1",
            f"{begin + 1000}us +5us send.2",
            f"{begin + 1005}us +7us recv-done.2",
            f"{begin + 1100}us +1us send.3",
        ]
    events.append("3200us +9us recv-done.3")
    executions = [("all_reduce_1", begin + 12, begin + 290 + late_us) for begin in (0, 2000)]
    executions += [("gather_2", begin + 30, begin + 880 + late_us) for begin in (0, 2000)]
    return host(TRANSFERS, [(0, 1500), (2000, 1500)], events, copies(executions))


_GRAPHS = (("gather_2", 30), ("all_reduce_1", 8))
_RUNS = (5, 1000, 2000)


def _core(number: int) -> list[str]:
    """A TensorCore with sends and receives, ops shorter than a nanosecond, and stats of every kind."""
    lines = [f'plane {10 + number} "/device:TPU:{number}"']
    names = {}
    for i, rendezvous in enumerate(("all_reduce_1", "gather_2")):
        for kind in ("send", "recv", "send-done", "recv-done"):
            attribute = "" if kind.endswith("done") else f' _xla_host_transfer_rendezvous="{rendezvous}"'
            name = names[f"{kind}.{i}"] = json.dumps(f"%{kind}.{i} = x{attribute}")
            facts = 'flops=u3, tf_op="a", bytes_accessed=u70000000000, weight=0.25, flow=u4, source="x.py"'
            lines.append(f'metadata {name} {{hlo_category=&"host {kind}", {facts}}} display="{kind}.{i}"')
    lines += [
        'metadata "%fusion.1 = z" {tf_op="shared"} display="fusion.1"',
        f'line 1 "XLA Modules" @{1000 + number}ns',
    ]
    lines += ['5us +400us "a(1)" {run_id=u17}', '1000us +400us "a(1)" {run_id=18}', '2000us +400us "b(1)"']
    lines += ['line 2 "XLA Ops" @1us', '1us +100ns "%fusion.1 = z"']
    for begin in _RUNS:
        lines += [
            f'{begin + 1}us +2us {names["send.0"]} {{x="t", x=7, raw=0x0102, deep=-5, symbol_id=3}}',
            f"{begin + 4}us +2us {names['recv.0']}",
            f"{begin + 7}us +1us {names['send.1']}",
            f"{begin + 9}us +1us {names['recv.1']}",
            *(f'{begin * 10**6 + 20_000_000 + at}ps +{long} "%fusion.1 = z"' for at, long in ((0, 500), (600, 100))),
            f"{begin * 10**6 + 20_000_700}ps +0 {names['send.1']}",
            f'{begin * 10**6 + 20_000_800}ps +100ps "%fusion.1 = z" {{tf_op="own", run_id=3}}',
            f'{begin * 10**6 + 20_000_900}ps +0 "%fusion.1 = z"',
            f'{begin * 10**6 + 20_001_000}ps +0 "%fusion.1 = z"',
            f"{begin + 100}us +9us {names['send-done.0']}",
            f"{begin + 200}us +50us {names['recv-done.0']}",
            f"{begin + 260}us +9us {names['send-done.1']}",
            f"{begin + 300}us +50us {names['recv-done.1']}",
        ]
    lines += ['line 5 "XLA TraceMe" @1us', "10us +1us ep_wait_in", "10us +300ps a", "10us +200ps b", "1us +1 lone"]
    return [*lines, 'line 3 "Steps" @1us', "5us +400us 1 {group_id=4}", 'line 4 "Async XLA Ops" @1us', "3us +1us x"]


def _graph(device: int, name: str, offset: int) -> list[str]:
    """Executions of a graph, with copies and with buffers of which some stay, and some are too fast to be true."""
    lines = []
    for i, begin in enumerate(at + offset for at in _RUNS):
        key = f'graph_key="device_{device}_gid_{name}$1^i{2 - i}x"'
        sent, received = (
            "s0->1d|$c1=40000,s0->0d|$c2=9,s0->3d|$c4=1234",
            "s1->0d|$c1=40000s2->0d|$c2=600000s3->0d|$c0=9",
        )
        lines += [
            f'{begin}us +150us "device_{device}_gid_{name}" {{{key}, input_size={4096 * (i + 1)}, action_index=0}}',
            *(f'{begin + 1 + 2 * n}us +0 "DeviceToHost START" {{{key}, action_index={n}}}' for n in (0, 1)),
            *(f'{begin + 2 + 2 * n}us +1us "DeviceToHost END" {{{key}, action_index={n}}}' for n in (0, 1)),
            f'{begin + 10}us +5us "NetworkSend END" {{{key}, action_duration_ns={2000 + i}, buffer_sizes="{sent}"}}',
            f'{begin + 15}us +5us "NetworkSend END" {{{key}, action_duration_ns=u7, buffer_sizes="{sent}"}}',
            *(
                f'{begin + at}us +2us "NetworkReceive END" {{{key}, network_transport_latency_us=u{took}, '
                f'buffer_sizes="{sizes}"}}'
                for at, took, sizes in ((30, 20 + i, received), (40, 0, received), (41, 1, "s1->0d|$c1=40000000"))
            ),
            f'{begin + 99}us +0 "HostToDevice START" {{{key}, action_index=u0}}',
            f'{begin + 100}us +0 "HostToDevice START" {{{key}, action_index=0}}',
            f'{begin + 140}us +10us "HostToDevice END" {{{key}, action_index=0}}',
        ]
    return lines


def four_slices() -> str:
    """Two TPUs and three devices of the runtime, the last of which belongs to no TPU; keys of other forms."""
    lines = [*_core(1), *_core(0), 'plane 3 "/device:CUSTOM:Megascale Trace"', 'line 1 "graphs" @1us']
    for device in (200005, 200001, 200009):
        for name, offset in _GRAPHS:
            lines += _graph(device, name, offset)
    lines += ['line 7 "other" @1us', '3us +1us "no key"', '4us +1us "odd" {graph_key="device_x_gid_"}']
    lines += ['9us +300ns "loose" {graph_key=&"device_200001_gid_free"}']
    lines += ['0 +1us "device_200001_gid_free_1" {graph_key="device_200001_gid_free_1"}']
    return "\n".join([*lines, 'plane 2 "/host:CPU"', 'line 1 "main"', '0 +1us "MegaScale: Receive"'])


def without_ends() -> str:
    """The two steps without copies to the device that end, and without one of the send-done ops."""
    return "\n".join(
        line
        for line in two_steps().splitlines()
        if "HostToDevice END" not in line and not line.endswith('send-done.1 = x"')
    )


def runtime_alone() -> str:
    """The plane of the runtime without a TPU to assign its devices to."""
    text = two_steps()
    return text[text.index("plane 3 ") :] + '\nplane 2 "/host:CPU"\nline 1 "main"\n0 +1us "MegaScale: Receive"'


PERFETTO = {
    "two_steps": two_steps,
    "four_slices": four_slices,
    "without_ends": without_ends,
    "runtime_alone": runtime_alone,
}
"""Profiles whose traces of Perfetto are compared with XProf's."""
