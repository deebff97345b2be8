"""Sessions for tests of the step and op pages: `python -m builders.profiles.step_profiles DIRECTORY`."""

from __future__ import annotations

import sys
from pathlib import Path

from builders.logdirs import write

SESSION = "plugins/profile/2026_11_20_10_00_00"


def worker(host: str, wait_us: int = 0) -> str:
    """A host with six steps of 1 ms and `wait_us` more for input."""
    lines = [f'host {host}\nplane 0 "/host:CPU"', "line 1 main"]
    for i in range(6):
        at = 3000 * i
        lines.append(f"{at}us +{1000 + wait_us}us train {{_r=1, step_num={i}}}")
        lines.append(f'{at + wait_us}us +600us "MatMul:MatMul"')
        lines += [f"{at}us +{wait_us}us IteratorGetNext"] if wait_us else []
    return "\n".join(lines)


def serving() -> str:
    """Five requests to two models; the last takes six times as long."""
    host, device = [], []
    for i, length in enumerate((1000, 1000, 1000, 1000, 6000)):
        at, model = 3000 * i, "k:2" if i == 1 else "m:1"
        host += [
            f'{at}us +{length}us SessionRun {{id={at}, _r=1, model_id="{model}"}}',
            f"{at + 100}us +50us WriteHbm",
            f'{at + 200}us +20us "tpu::System::Execute" {{_pt=9, _p={i + 1}}}',
            f"{at + 250}us +10us DoEnqueueProgram",
            f"{at + 720}us +30us ReadHbm",
            f"{at + 760}us +5us CompleteCallbacks",
        ]
        device.append(f'{at + 300}us +400us "jit_f(7)" {{_ct=9, _c={i + 1}}}')
    plane = 'plane 0 "/device:TPU:0" {device_type_string="TPU v4"}\nline 2 "XLA Modules"'
    return "\n".join(['plane 99 "/host:CPU"', "line 1 main", *host, plane, *device])


def gpu() -> str:
    """Three steps of a GPU that computes, copies and communicates, launched by the host."""
    host, first, second = ["line 1 main"], ['line 10 "Stream #1"'], ['line 11 "Stream #2"']
    for i in range(3):
        at, k = 2000 * i, 10 * i
        host += [f"{at}us +1500us train {{_r=1, step_num={i}}}", f"{at}us +100us IteratorGetNext"]
        for n, begin in enumerate((100, 200, 300, 400, 700)):
            host.append(f"{at + begin}us +20us launch {{correlation_id={k + n}}}")
        first += [
            f"{at + 160}us +100us MemcpyHtoD {{correlation_id={k}}}",
            f'{at + 300}us +200us sgemm {{correlation_id={k + 1}, tf_op="jit(f)/dot_general:dot_general"}}',
            f"{at + 900}us +60us MemcpyDtoH {{correlation_id={k + 4}}}",
        ]
        second.append(f"{at + 550}us +200us ncclAllReduce {{correlation_id={k + 2}}}")
    planes = ['plane 0 "/host:CPU"', *host, 'plane 1 "/device:GPU:0" {device_vendor="Nvidia", compute_cap_major=9}']
    return "\n".join([*planes, *first, *second])


def unmarked() -> str:
    """A TPU that runs one program five times, without step markers."""
    runs = "\n".join(f'{100 * i}us +80us "jit_step(3)"' for i in range(5))
    ops = "\n".join(f"{100 * i}us +{60 + 5 * (i % 2)}us fusion.1" for i in range(5))
    host = "\n".join(f"{100 * i}us +90us my_step" for i in range(5))
    tpu = 'plane 1 "/device:TPU:0" {device_type_string="TPU v4"}'
    return f'plane 0 "/host:CPU"\nline 1 a\n{host}\n{tpu}\nline 2 "XLA Modules"\n{runs}\nline 3 "XLA Ops"\n{ops}'


def compiling() -> str:
    """Three steps of a GPU that copies to another GPU and waits for a compilation."""
    host, stream = ["line 1 main"], ['line 10 "Stream #1"']
    for i in range(3):
        at = 2000 * i
        host += [f"{at}us +1500us train {{_r=1, step_num={i}}}", f"{at + 600}us +700us backend_compile"]
        host += [f"{at + begin}us +20us launch {{correlation_id={2 * i + n}}}" for n, begin in enumerate((10, 20))]
        stream += [
            f'{at + 100}us +300us sgemm {{correlation_id={2 * i}, tf_op="jit(f)/dot_general:dot_general"}}',
            f"{at + 400}us +200us MemcpyP2P {{correlation_id={2 * i + 1}}}",
        ]
    planes = ['plane 0 "/host:CPU"', *host, 'plane 1 "/device:GPU:0" {device_vendor="Nvidia", compute_cap_major=9}']
    return "\n".join([*planes, *stream])


def main(root: Path) -> None:
    """Writes the sessions `pod`, `serving`, `gpu`, `compiling` and `unmarked` below `root`."""
    pod = {f"pod/{SESSION}/h{i}.xplane.pb": worker(f"worker-{i}", 500 if i == 2 else 0) for i in range(3)}
    others = {"serving": serving(), "gpu": gpu(), "compiling": compiling(), "unmarked": unmarked()}
    write(root, {**pod, **{f"{name}/{SESSION}/h.xplane.pb": text for name, text in others.items()}})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
