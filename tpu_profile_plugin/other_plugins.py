"""Detects other packages that register a TensorBoard plugin named `profile`; TensorBoard fails to start with two."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata

NAME = "profile"
OURS = "tpu-profile-plugin"


@dataclass(frozen=True, slots=True)
class ConflictingPlugin:
    """A distribution, as pip names it, that registers a plugin `profile` with TensorBoard."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def conflicting_plugins() -> tuple[ConflictingPlugin, ...]:
    """The other distributions that register a plugin of our name, sorted; usually none."""
    plugins = {
        ConflictingPlugin(point.dist.metadata["Name"], point.dist.version)
        for point in metadata.entry_points(group="tensorboard_plugins", name=NAME)
        if point.dist is not None and point.dist.metadata["Name"].lower().replace("_", "-") != OURS
    }
    return tuple(sorted(plugins, key=str))


def conflict_message(plugins: tuple[ConflictingPlugin, ...]) -> str:
    """Sentences naming the plugin that is shown and the fix; `plugins` must not be empty."""
    names, pip_names = " and ".join(map(str, plugins)), " ".join(plugin.name for plugin in plugins)
    return (
        f"{names} also brings a TensorBoard plugin {NAME!r}, and TensorBoard fails to start with two of the same name: "
        f"{OURS} steps aside, and `tensorboard` shows the Profile tab of {plugins[0].name}. "
        f"To use this plugin, run `pip uninstall {pip_names}`, or start it alone with `tpu-profile serve --logdir ...`."
    )
