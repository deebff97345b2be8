"""Named baselines: summaries of the runs that a name stands for, in the user's data directory or a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tpu_profile_plugin.analysis.trend.summary import RunSummary
from tpu_profile_plugin.errors import BadRequest, CorruptProfile, NotFound
from tpu_profile_plugin.system.files import make_private
from tpu_profile_plugin.trend.summaries import encoded, from_object, replace_text
from tpu_profile_plugin.units import MIB

_MOST_NAME = 100
_MOST_FILE = 64 * MIB


def default_file() -> Path:
    """The file in the user's data directory, which outlives caches."""
    import platformdirs

    return Path(platformdirs.user_data_dir("tpu-profile-plugin", appauthor=False)) / "baselines.json"


def baselines(path: Path) -> dict[str, list[RunSummary]]:
    """The baselines of a file by name, each with its runs; {} without the file. Raises CorruptProfile, NotFound."""
    try:
        if path.stat().st_size > _MOST_FILE:
            raise CorruptProfile(f"{path.name} has more than {_MOST_FILE // MIB} MiB: it is no file of baselines.")
        data: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise NotFound(f"{path.name} cannot be read: {error.strerror}.", code="baselines_not_readable") from None
    except (ValueError, RecursionError):
        raise CorruptProfile(f"{path.name} is no file of baselines: it is no JSON.") from None
    found = {}
    for name, runs in _object(data, path).items():
        try:
            found[name] = [from_object(run) for run in runs]
        except (ValueError, TypeError, KeyError) as error:
            raise CorruptProfile(f"{path.name}: the baseline {name!r} cannot be read: {error}") from None
    return found


def _object(data: Any, path: Path) -> dict[str, Any]:
    known = data.get("baselines") if isinstance(data, dict) else None
    if not isinstance(known, dict):
        raise CorruptProfile(f"{path.name} is no file of baselines: it has no object `baselines`.")
    return known


def baseline(path: Path, name: str) -> list[RunSummary]:
    """The runs of a baseline. Raises NotFound with the names that there are."""
    known = baselines(path)
    if name not in known:
        raise NotFound(
            f"There is no baseline {name[:200]!r}; there are: {', '.join(known) or 'none'}.", code="baseline_not_found"
        )
    return known[name]


def set_baseline(path: Path, name: str, runs: Sequence[RunSummary]) -> None:
    """Stores runs under a name, in place of those that it stood for. Raises BadRequest, and OSError."""
    if not name or len(name) > _MOST_NAME or not name.isprintable() or name.startswith("latest:") or "=" in name:
        raise BadRequest(f"A baseline needs a name of 1 to {_MOST_NAME} characters without '=', not {name[:80]!r}.")
    _write(path, {**baselines(path), name: list(runs)})


def delete_baseline(path: Path, name: str) -> None:
    """Forgets a name. Raises NotFound, and OSError."""
    baseline(path, name)
    _write(path, {other: runs for other, runs in baselines(path).items() if other != name})


def _write(path: Path, known: Mapping[str, Sequence[RunSummary]]) -> None:
    if path == default_file():
        make_private(path.parent)
    listed = {name: [json.loads(encoded(run)) for run in runs] for name, runs in sorted(known.items())}
    replace_text(path, json.dumps({"baselines": listed}, indent=1, sort_keys=True) + "\n")
