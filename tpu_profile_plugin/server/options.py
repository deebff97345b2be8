"""The options that flags and environment variables set."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.workers.choice import HELP, parse_executor

_LOG = logging.getLogger("tpu_profile_plugin")
_MB = 1 << 20


@dataclass(frozen=True)
class Options:
    """The options of the plugin.

    Attributes:
      logdir: path or URL; "" when TensorBoard was started without one.
      allowed_roots: directories that may contain `session_path` and `run_path`; empty disables both parameters.
      cache_dir: directory of the disk cache; None: the user's cache directory, "off": no disk cache.
      columns_bytes: memory for decoded profiles.
      results_bytes: memory for answers.
      warm_bytes: the newest session is opened in advance, in the background, if its first file is at most this large;
        0: never.
      disk_bytes: disk space for answers, and as much for summaries of the hosts of large runs.
      remote_bytes: disk space for copies of remote files.
      scan_limit_s: time limit of one scan of the logdir.
      hide_capture_button, tab_name_label, src_prefix: passed through to the page by `/config`.
      capture_hosts: addresses besides this machine that may be captured from, as a comma-separated list of names with
        `*`, addresses and networks; "*": all, "off": no capturing.
      capture_by_get: whether XProf's frontend, which captures with a GET, may do so.
      server_names: names of this server besides those of this machine.
      executor: where runs of many hosts are read: "processes", "threads", the address of a Dask scheduler, or "" to
        choose by the size of the run.
      workers: the most worker processes; 0: one per core.
      server_names_only: reject requests under other names, as protection against DNS rebinding.
      framing: "any": other origins may frame our pages, as notebooks do with TensorBoard; "self": this server only.
    """

    logdir: str = ""
    allowed_roots: tuple[str, ...] = ()
    cache_dir: str | None = None
    columns_bytes: int = 1024 * _MB
    results_bytes: int = 256 * _MB
    warm_bytes: int = 0
    disk_bytes: int = 1024 * _MB
    remote_bytes: int = 4096 * _MB
    scan_limit_s: float = 10.0
    hide_capture_button: bool = False
    tab_name_label: bool = False
    src_prefix: str = ""
    capture_hosts: str = ""
    capture_by_get: bool = False
    server_names: tuple[str, ...] = ()
    executor: str = ""
    workers: int = 0
    server_names_only: bool = False
    framing: str = "any"

    @property
    def capture_enabled(self) -> bool:
        """Whether this server offers captures."""
        return bool(self.logdir) and self.capture_hosts.lower() != "off"


FLAGS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "--master_tpu_unsecure_channel",
        {"metavar": "ADDR", "type": str, "default": "", "help": "Accepted for old command lines and ignored."},
    ),
    (
        "--profile_allowed_roots",
        {
            "metavar": "DIR[,DIR...]",
            "type": str,
            "default": None,
            "help": "Directories outside --logdir that links with session_path or run_path may open "
            "(default: none; environment: TPU_PROFILE_ALLOWED_ROOTS).",
        },
    ),
    (
        "--profile_capture_hosts",
        {
            "metavar": "PATTERN[,PATTERN...]",
            "type": str,
            "default": None,
            "help": "Addresses besides this machine's own that CAPTURE PROFILE may use, e.g. *.lab.example,10.0.0.0/8; "
            '"*" allows all, "off" disables capturing '
            "(default: this machine only; environment: TPU_PROFILE_CAPTURE_HOSTS).",
        },
    ),
    (
        "--profile_capture_by_get",
        {
            "action": "store_true",
            "default": None,
            "help": "Let pages of XProf's own frontend capture, which use GET for it; only from pages of this server "
            "(default: off, captures need POST; environment: TPU_PROFILE_CAPTURE_BY_GET=true).",
        },
    ),
    (
        "--profile_server_names",
        {
            "metavar": "NAME[,NAME...]",
            "type": str,
            "default": None,
            "help": "Names under which browsers reach this server, besides localhost, this machine's name and IP "
            "addresses; needed to capture through a proxy. When given, nothing is served under any other name "
            "(environment: TPU_PROFILE_SERVER_NAMES).",
        },
    ),
    (
        "--profile_cache_dir",
        {
            "metavar": "DIR",
            "type": str,
            "default": None,
            "help": "Where computed answers and copies of remote files are cached, never in the logdir; "
            '"off" caches nothing on disk '
            "(default: your cache directory; environment: TPU_PROFILE_CACHE_DIR).",
        },
    ),
    (
        "--profile_columns_mb",
        {
            "metavar": "N",
            "type": int,
            "default": None,
            "help": "Memory for decoded profiles, in MiB (default: 1024; environment: TPU_PROFILE_COLUMNS_MB).",
        },
    ),
    (
        "--profile_results_mb",
        {
            "metavar": "N",
            "type": int,
            "default": None,
            "help": "Memory for answers, in MiB (default: 256; environment: TPU_PROFILE_RESULTS_MB).",
        },
    ),
    ("--profile_executor", {"metavar": "WHERE", "type": str, "default": None, "help": HELP}),
    (
        "--profile_workers",
        {
            "metavar": "N",
            "type": int,
            "default": None,
            "help": "Processes for runs of many hosts (default: one per core; environment: TPU_PROFILE_WORKERS).",
        },
    ),
    (
        "--profile_warm_mb",
        {
            "metavar": "N",
            "type": int,
            "default": None,
            "help": "Open the newest session in the background, at low priority, as soon as the list of sessions is "
            "requested, if its file has at most N MiB; it takes about four times that of the memory for decoded "
            "profiles (default: 0, never; environment: TPU_PROFILE_WARM_MB).",
        },
    ),
    (
        "--profile_disk_mb",
        {
            "metavar": "N",
            "type": int,
            "default": None,
            "help": "Disk space for answers, and as much for summaries of hosts, in MiB "
            "(default: 1024; environment: TPU_PROFILE_DISK_MB).",
        },
    ),
    (
        "--profile_remote_mb",
        {
            "metavar": "N",
            "type": int,
            "default": None,
            "help": "Disk space for copies of files from remote logdirs such as gs:// and s3://, in MiB; 0 caches none "
            "(default: 4096; environment: TPU_PROFILE_REMOTE_MB).",
        },
    ),
)


def define_flags(parser: argparse.ArgumentParser) -> None:
    """Adds our flags, except those that another plugin has already defined."""
    group = parser.add_argument_group("profile plugin")
    for name, settings in FLAGS:
        try:
            group.add_argument(name, **settings)
        except argparse.ArgumentError:
            _LOG.debug("flag %s is already defined", name)


def from_context(context: Any, environ: Mapping[str, str] = os.environ) -> Options:
    """The options of a TensorBoard context: flags override the environment, which overrides the defaults."""
    flags = getattr(context, "flags", None)

    def given(name: str) -> Any:
        value = getattr(flags, f"profile_{name}", None)
        return value if value is not None else environ.get(f"TPU_PROFILE_{name.upper()}")

    roots = given("allowed_roots") or ""
    return Options(
        logdir=getattr(context, "logdir", None) or "",
        allowed_roots=tuple(root.strip() for root in str(roots).split(",") if root.strip()),
        cache_dir=given("cache_dir") or None,
        columns_bytes=_megabytes("columns", given("columns_mb"), Options.columns_bytes),
        warm_bytes=_megabytes("warm", given("warm_mb"), Options.warm_bytes),
        results_bytes=_megabytes("results", given("results_mb"), Options.results_bytes),
        disk_bytes=_megabytes("disk", given("disk_mb"), Options.disk_bytes),
        remote_bytes=_megabytes("remote", given("remote_mb"), Options.remote_bytes),
        hide_capture_button=bool(getattr(context, "hide_capture_profile_button", False)),
        tab_name_label=bool(getattr(context, "enable_tab_name_label", False)),
        src_prefix=getattr(context, "src_prefix", None) or "",
        capture_hosts=str(given("capture_hosts") or "").strip(),
        capture_by_get=str(given("capture_by_get") or "").lower() in ("true", "1"),
        server_names=tuple(
            name.strip()
            for name in (*str(given("server_names") or "").split(","), str(getattr(flags, "host", None) or ""))
            if name.strip()
        ),
        executor=parse_executor(given("executor")),
        workers=_count(given("workers")),
        server_names_only=bool(given("server_names")),
        framing="self" if environ.get("TPU_PROFILE_FRAMING") == "self" else "any",
    )


def _count(value: Any) -> int:
    try:
        return max(0, int(value or 0))
    except ValueError:
        _LOG.warning("TPU_PROFILE_WORKERS must be a number, not %r; using one worker per core", value)
        return 0


def _megabytes(name: str, value: Any, default: int) -> int:
    if value is None or value == "":
        return default
    try:
        number = int(value)
    except ValueError:
        number = -1
    if number < 0:
        _LOG.warning("TPU_PROFILE_%s_MB must be a number of MiB, not %r; using %d", name.upper(), value, default // _MB)
        return default
    return number * _MB
