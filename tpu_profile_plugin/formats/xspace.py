"""XSpace: the protobuf message that XLA's profilers write."""

from __future__ import annotations

from tpu_profile_plugin.formats.format import Format, Unpacked
from tpu_profile_plugin.suffixes import XPLANE

FORMAT = Format(name="XSpace", suffixes=(XPLANE,), sniff=lambda content: True, read=Unpacked)
