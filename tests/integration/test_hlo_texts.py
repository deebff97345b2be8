"""HLO texts of all modules of real profiles and of compiled functions, parsed by XLA itself (jaxlib)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.programs.hlo import metadata_plane
from builders.programs.jax_programs import NESTED, PROGRAMS
from builders.servers import frameworks
from builders.xspace_text import build

from tpu_profile_plugin.analysis.hlo.programs import Program, hlo_programs, source_of
from tpu_profile_plugin.analysis.hlo.text import HloText
from tpu_profile_plugin.columns import load
from tpu_profile_plugin.protos import message

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(600)]
HERE = Path(__file__).parents[2]
PROFILES = [HERE / "demo", HERE.parent / "shared/traces/logdir"]

COMPILE = """
import json, pathlib
import jax, jax.numpy as jnp
from jax import lax
from jaxlib import _hlo

found = dict()
for name, (text, shapes) in json.loads({functions!r}).items():
    arguments = [jax.ShapeDtypeStruct(tuple(shape[:-1]), shape[-1]) for shape in shapes]
    lowered = jax.jit(eval(text)).lower(*arguments)
    modules = [lowered.compiler_ir("hlo").as_hlo_module(), *lowered.compile().runtime_executable().hlo_modules()]
    found |= dict((name + " " + str(i), module) for i, module in enumerate(modules))
for name, text in json.loads({texts!r}).items():
    found[name] = _hlo.hlo_module_from_text(text)
values = dict((name, module.as_serialized_hlo_module_proto().hex()) for name, module in found.items())
pathlib.Path({path!r}).write_text(json.dumps(values))
"""

PARSE = """
import json, pathlib
from jaxlib import _hlo

def spelled(module):
    options = _hlo.HloPrintOptions()
    options.print_metadata = options.print_large_constants = False
    return module.to_string(options)

path, found = pathlib.Path({path!r}), dict()
for name, (proto, texts) in json.loads(path.read_text()).items():
    expected = spelled(_hlo.HloModule.from_serialized_hlo_module_proto(bytes.fromhex(proto)))
    for kind, text in texts.items():
        try:
            parsed = _hlo.hlo_module_from_text(text)
            values = [expected, spelled(parsed), parsed.as_serialized_hlo_module_proto().hex()]
        except Exception as error:
            values = [str(error), "", ""]
        found[name + " " + kind] = values
path.write_text(json.dumps(found))
"""


def of_profiles() -> Iterator[tuple[str, Program]]:
    for folder in PROFILES:
        for file in sorted(folder.rglob("*.xplane.pb")):
            space = load(np.fromfile(file, np.uint8))
            programs = hlo_programs(space)
            for program_id, name in programs.names.items():
                program = programs.program(program_id)
                assert program is not None
                yield f"{file.parent.name} {file.name} {name}", program


def of_functions(tmp_path: Path) -> Iterator[tuple[str, Program]]:
    path = tmp_path / "modules.json"
    texts = {"functions": json.dumps(PROGRAMS), "texts": json.dumps(NESTED)}
    frameworks.run_program(frameworks.python_of("jax"), COMPILE, path=str(path), **texts)
    for name, module in json.loads(path.read_text()).items():
        proto = message("xla.HloProto")()
        proto.hlo_module.ParseFromString(bytes.fromhex(module))
        yield name, read(bytes(proto.SerializeToString()))


def read(proto: bytes) -> Program:
    program = hlo_programs(load(np.frombuffer(build(metadata_plane(m=(7, proto))), np.uint8))).program(7)
    assert program is not None
    return program


def module_of(program: Program) -> bytes:
    proto = message("xla.HloProto").FromString(program.space.blob(program.module.proto))
    return bytes(proto.hlo_module.SerializeToString())


KINDS = {f"{form} {extra}".strip(): (form == "long", extra == "metadata")
         for form in ("short", "long") for extra in ("", "metadata")}  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> dict[str, Program]:
    frameworks.python_of("jax")
    return {**dict(of_profiles()), **dict(of_functions(tmp_path_factory.mktemp("compiled")))}


@pytest.fixture(scope="module")
def parsed(programs, tmp_path_factory) -> dict[str, tuple[str, str, str]]:
    """Per program and kind of text: the program as XLA spells it, our text read and spelled by XLA, and as a proto."""
    path = tmp_path_factory.mktemp("texts") / "texts.json"
    texts: dict[str, Any] = {
        name: (module_of(one).hex(), {kind: "".join(HloText(one, *how).module()) for kind, how in KINDS.items()})
        for name, one in programs.items()
    }
    path.write_text(json.dumps(texts))
    frameworks.run_program(frameworks.python_of("jax"), PARSE, path=str(path))
    return {name: tuple(values) for name, values in json.loads(path.read_text()).items()}


@pytest.mark.parametrize("kind", KINDS)
def test_texts_mean_the_same_to_xla_as_the_program(programs, parsed, kind):
    assert len(programs) > 40
    for name in programs:
        expected, found, _ = parsed[f"{name} {kind}"]
        if kind.startswith("short"):  # without the order between instructions that do not use one another
            expected = re.sub(r", control-predecessors=\{[^}]*\}", "", expected)
        assert blocks(found) == blocks(expected), name


def blocks(text: str) -> list[str]:
    """The computations in any order: that of this XLA may be another than that of the XLA in XProf.

    Without the groups of devices, which XLA reads from newer fields only.
    """
    return sorted(re.sub(r"replica_groups=[^ ]*, ", "", text).split("\n\n"))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "metadata" in kind])
def test_sources_survive(programs, parsed, kind):
    seen = 0
    for name, program in programs.items():
        proto = message("xla.HloProto")()
        proto.hlo_module.ParseFromString(bytes.fromhex(parsed[f"{name} {kind}"][2]))
        again = read(bytes(proto.SerializeToString()))
        for row, instruction in enumerate(program.names):
            if program.op_names[row]:
                assert source_of(again, again.row_of[instruction]) == source_of(program, row), (name, instruction)
                seen += source_of(program, row) is not None
    assert seen > 100
