"""Sessions in which every name is HTML with a script: `python -m builders.profiles.hostile DIRECTORY`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from builders.logdirs import write
from builders.messages import XSpace
from builders.profiles import op_profiles, step_profiles
from builders.xspace_text import build

DEMO = Path(__file__).parents[3] / "demo"
# Inserted into a page as HTML, this creates an image that fails to load, whose handler sets `window.hostile`.
MARK = "<img src=x onerror=window.hostile=1>"
# Names that the analyses depend on; all others are display text.
STEERING = ("Iterator", "Hbm", "tpu::", "SessionRun", "DoEnqueue", "CompleteCallbacks", "Memory", "%")
SHOWN_STATS = (
    "tf_op",
    "hlo_category",
    "source",
    "hlo_op",
    "region_type",
    "tf_op_name",
    "model_id",
    "shape",
    "kernel_details",
)


def hostile(data: bytes) -> bytes:
    """The profile with the mark before its names and in the texts of its stats."""
    space = XSpace.FromString(data)
    for plane in space.planes:
        keys = {key for key, meta in plane.stat_metadata.items() if meta.name in SHOWN_STATS}
        for line in plane.lines:
            line.display_name = MARK + (line.display_name or line.name)
            for event in line.events:
                _mark(event.stats, keys)
        for meta in plane.event_metadata.values():
            _mark(meta.stats, keys)
            meta.display_name = MARK + (meta.display_name or meta.name)
            if not any(text in meta.name for text in STEERING):
                meta.name = MARK + meta.name
    return space.SerializeToString()


def _mark(stats: Any, keys: set[int]) -> None:
    for stat in stats:
        if stat.metadata_id in keys and stat.WhichOneof("value") == "str_value":
            stat.str_value = MARK + stat.str_value


def main(root: Path) -> None:
    """Writes one run of each kind below `root`; the names of runs and hosts carry the mark as well."""
    program = op_profiles.hlo.relu_program().hex()
    marked = op_profiles.hlo.relu_program(MARK).hex()
    texts = {
        "pod": step_profiles.worker("worker", 500),
        "serving": step_profiles.serving(),
        "steps": step_profiles.gpu(),
        "tpu": op_profiles.TPU.replace(program, marked),
        "gpu": op_profiles.GPU.replace(program, marked),
    }
    profiles = {name: build(text) for name, text in texts.items()}
    for demo in sorted(DEMO.glob("*/plugins/profile/*/*.xplane.pb")):
        profiles[demo.relative_to(DEMO).parts[0]] = demo.read_bytes()
    write(
        root,
        {f"{MARK} {name}/plugins/profile/1/{MARK}.xplane.pb": hostile(data) for name, data in profiles.items()},
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
