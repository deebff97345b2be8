"""The parameter `clocks`: what to add to the times of hosts, so that their clocks agree."""

from __future__ import annotations

from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.inputs import Inputs
from tpu_profile_plugin.tools.params import Param

PARAM = Param(
    "clocks",
    "string",
    "",
    "Picoseconds to add to the times of hosts, HOST:PS joined by commas; other hosts stay as recorded.",
)
FARTHEST_PS = 10**17
"""A little more than a day."""


def shift_of(inputs: Inputs, host: HostProfile) -> int:
    """What to add to a host's times, in ps; 0 unless the request names the host. Raises BadRequest."""
    return _shifts(inputs.text(PARAM.name)).get(host.name, 0)


def _shifts(text: str) -> dict[str, int]:
    shifts: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, colon, number = part.rpartition(":")
        digits = number.removeprefix("-")
        if not colon or not digits.isascii() or not digits.isdigit() or len(digits) > 18 or int(digits) > FARTHEST_PS:
            message = f"Parameter 'clocks' must be HOST:PS joined by commas, not {part[:80]!r}."
            raise BadRequest(message, parameter=PARAM.name, value=part[:80])
        shifts[name] = int(number)
    return shifts
