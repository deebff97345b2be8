"""A report as Python has it: bytes that can be saved, and shown in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from tpu_profile_plugin.export.write import write_file

_HEIGHT = 800


@dataclass(frozen=True)
class SavedReport:
    """A run in one HTML file, which needs no server.

    Attributes:
      data: the file.
      logdir: where the run is; reports are not written there.
      left: what redaction replaced and left; "" without it.
      height: of its frame in a notebook, in pixels.
    """

    data: bytes = field(repr=False)
    logdir: str = field(default="", repr=False)
    left: str = ""
    height: int = _HEIGHT

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes the file; raises BadRequest if it exists and `force` is false, or cannot be written."""
        path = Path(path)
        write_file(path, lambda place: place.write_bytes(self.data), logdir=self.logdir, force=force)
        return path

    def _repr_html_(self) -> str:
        # A frame with an origin of its own: the scripts of the report reach nothing of the notebook.
        return (
            f'<iframe srcdoc="{escape(self.data.decode())}" sandbox="allow-scripts allow-downloads allow-popups" '
            f'width="100%" height="{self.height}" frameborder="0" allowfullscreen></iframe>'
        )
