"""Detects other packages that register a TensorBoard plugin named `profile`, of which TensorBoard accepts only one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata

NAME = "profile"
OURS = "tpu-profile-plugin"
BESIDE_NAME, BESIDE_TAB = "tpu_profile", "TPU Profile"
"""Name and tab of this plugin beside another one."""


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
    """Sentences naming the plugin of each tab and how to choose; `plugins` must not be empty."""
    names, pip_names = " and ".join(map(str, plugins)), " ".join(plugin.name for plugin in plugins)
    return (
        f"{names} also brings a TensorBoard plugin {NAME!r}, and TensorBoard accepts one of a name: the tab Profile is "
        f"that of {plugins[0].name}, the tab {BESIDE_TAB} that of {OURS}. For this one alone, run "
        f"`pip uninstall {pip_names}`, or `tpu-profile serve --logdir ...`."
    )
