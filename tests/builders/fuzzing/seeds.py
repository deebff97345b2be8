"""Seeds of a few hundred bytes for native/fuzz: `python -m builders.fuzzing.seeds DIRECTORY`, a folder per target."""

from __future__ import annotations

import sys
from pathlib import Path

from builders.logdirs import SMALL
from builders.programs import buffers, hlo
from builders.records import simple
from builders.snapshots import block, dumped, segment, snapshot, training
from builders.xspace_text import build

TRACE_EVENTS = (
    b'{"displayTimeUnit":"ns","traceEvents":[{"ph":"M","pid":1,"name":"process_name","args":{"name":"/host:CPU"}},'
    b'{"ph":"X","pid":1,"tid":2,"ts":1.5,"dur":2,"name":"a","args":{"long_name":"b","n":"7","x":1e400}}]}',
    b'[{"ph":"B","pid":1,"tid":"3","ts":1,"name":"\\u00e9\\ud83d"},{"ph":"E","pid":1,"tid":3,"ts":-4},',
    b'[{"ph":"C","pid":9223372036854775807,"ts":"nan","name":"c","args":{"v":18446744073709551615,"w":[{}]}}]',
)
PYTORCH = (
    b'{"schemaVersion":1,"distributedInfo":{"rank":1},"traceEvents":[{"ph":"X","cat":"user_annotation","name":'
    b'"ProfilerStep#1","pid":1,"tid":2,"ts":1,"dur":9},{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,'
    b'"ts":2,"dur":4,"args":{"Input Dims":[[2,3],[3,5]],"Input type":["float","float"]}}]}',
    b'{"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":3,"dur":1,"args":'
    b'{"correlation":9}},{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":4,"dur":2.5,"args":'
    b'{"correlation":9,"grid":[1,2,3]}}],"baseTimeNanoseconds":1700000000000000000}',
    b'{"traceEvents":[{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":2,"ts":5,"args":{"Bytes":-8,'
    b'"Device Type":1}},{"ph":"X","cat":"python_function","name":"a.py(3): f","pid":1,"tid":2,"ts":1,"dur":9}]}',
    b'{"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"hipGraphLaunch","pid":1,"tid":2,"ts":3,"args":{"correlation":'
    b'9}},{"ph":"X","cat":"kernel","name":"k","tid":7,"ts":4,"args":{"correlation":9}}]}{"traceEvents":[{"ph":"X","cat":'
    b'"_runtime","name":"StreamBeginCapture","pid":1,"tid":2,"ts":1,"args":{"correlation":1}},{"ph":"X","cat":"_runtime",'
    b'"name":"Launch","pid":1,"tid":2,"ts":2,"args":{"correlation":2,"kernel":"k"}},{"ph":"X","cat":"_runtime","name":'
    b'"StreamEndCapture","pid":1,"tid":2,"ts":3,"args":{"correlation":3}}]}',
    b'{"traceEvents":[{"ph":"X","cat":"python_function","name":"b.py(1): g","pid":0,"tid":0,"ts":1,"dur":9,"args":'
    b'{"Python id":1}},{"ph":"X","cat":"python_function","name":"b.py(2): h","pid":0,"tid":0,"ts":2,"dur":3,"args":'
    b'{"Python id":2,"Python parent id":1}},{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=1]","pid":1,'
    b'"tid":2,"ts":1,"dur":9}]}',
)


def seeds() -> dict[str, list[bytes]]:
    """Target -> inputs of at most a few hundred bytes."""
    profile = build(SMALL)
    assignment = buffers.assignment(
        buffers.buffer(1, 64, buffers.instruction_id(1), 0),
        buffers.allocation(0, 128, [(1, 0, 64)], "parameter"),
        buffers.trace("alloc 1 x", "free 1 x"),
    )
    ramp = bytes(range(256))
    return {
        "decode": [profile, profile[:100]],
        "peek": [b"\x05" + profile],
        "hlo": [hlo.relu_program(), hlo.relu_program() + assignment],
        "trace_events": list(TRACE_EVENTS),
        "kineto": list(PYTORCH),
        "snapshot": [dumped(training(), 2)[:400], dumped(snapshot([segment(0, 4096, [block(0, 512)])]))],
        "records": [bytes([0, 1, len(profile) & 255, 0]) + simple([profile[:250]], kind) for kind in (0, *b"bzs")],
        "timeline": [ramp, ramp[::-1], bytes(200)],
        "kernels": [ramp, ramp[::-1]],
    }


def main(root: Path) -> None:
    """Writes the missing seeds."""
    for target, inputs in seeds().items():
        (root / target).mkdir(parents=True, exist_ok=True)
        for i, data in enumerate(inputs):
            (root / target / f"seed{i}").write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
