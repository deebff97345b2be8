"""The options that flags and environment variables set."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.system.terminal import LOG as _LOG
from tpu_profile_plugin.units import MIB
from tpu_profile_plugin.workers import EXECUTOR_HELP, parse_executor


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
      disk_bytes: disk space for answers, and as much for summaries of the hosts of large runs, and for tables of SQL.
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
      source_root: directory below which source files are shown; "": none are.
      note: a sentence above the pages.
      framing: "any": other origins may frame our pages, as notebooks do with TensorBoard; "self": this server only.
    """

    logdir: str = ""
    allowed_roots: tuple[str, ...] = ()
    cache_dir: str | None = None
    columns_bytes: int = 1024 * MIB
    results_bytes: int = 256 * MIB
    warm_bytes: int = 0
    disk_bytes: int = 1024 * MIB
    remote_bytes: int = 4096 * MIB
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
    source_root: str = ""
    note: str = ""

    @property
    def capture_enabled(self) -> bool:
        """Whether this server offers captures."""
        return bool(self.logdir) and self.capture_hosts.lower() != "off"


FLAGS: tuple[tuple[str, str, type, str, str], ...] = (
    (
        "--profile_allowed_roots",
        "DIR[,DIR...]",
        str,
        "Directories outside --logdir that links with session_path or run_path may open",
        "none",
    ),
    (
        "--profile_source_root",
        "DIR",
        str,
        "Directory whose source files, at any depth, the page Source shows beside their lines; links are refused",
        "none",
    ),
    (
        "--profile_capture_hosts",
        "PATTERN[,PATTERN...]",
        str,
        "Addresses besides this machine's own that CAPTURE PROFILE may use, e.g. *.lab.example,10.0.0.0/8; "
        '"*" allows all, "off" disables capturing',
        "this machine only",
    ),
    (
        "--profile_capture_by_get",
        "",
        bool,
        "Accept captures by GET, as XProf's own frontend sends them, from pages of this server only",
        "off, captures need POST",
    ),
    (
        "--profile_server_names",
        "NAME[,NAME...]",
        str,
        "Names under which browsers reach this server, besides localhost, this machine's name and IP addresses; needed "
        "to capture through a proxy. If set, requests under other names are refused",
        "none",
    ),
    (
        "--profile_cache_dir",
        "DIR",
        str,
        "Where computed answers and copies of remote files are cached, never in the logdir; "
        '"off" caches nothing on disk',
        "your cache directory",
    ),
    ("--profile_columns_mb", "N", int, "Memory for decoded profiles, in MiB", "1024"),
    ("--profile_results_mb", "N", int, "Memory for answers, in MiB", "256"),
    ("--profile_executor", "WHERE", str, EXECUTOR_HELP, ""),
    ("--profile_workers", "N", int, "Processes for runs of many hosts", "one per core"),
    (
        "--profile_warm_mb",
        "N",
        int,
        "Open the newest session in the background, at low priority, when the list of sessions is requested, if its "
        "file has at most N MiB; it takes about four times the size of the file in memory for decoded profiles",
        "0, never",
    ),
    (
        "--profile_disk_mb",
        "N",
        int,
        "Disk space for answers, and as much for summaries of hosts and for tables of SQL, in MiB",
        "1024",
    ),
    (
        "--profile_remote_mb",
        "N",
        int,
        "Disk space for copies of files from remote logdirs such as gs:// and s3://, in MiB; 0 caches none",
        "4096",
    ),
)
"""Flags with metavar, type, help and default; the environment variable of `--profile_x` is TPU_PROFILE_X."""


def define_flags(parser: argparse.ArgumentParser) -> None:
    """Adds our flags, except those that another plugin has already defined."""
    group = parser.add_argument_group("profile plugin")
    ignored = {"metavar": "ADDR", "default": "", "help": "Accepted for old command lines and ignored."}
    flags: dict[str, dict[str, Any]] = {"--master_tpu_unsecure_channel": ignored}
    for name, metavar, kind, text, default in FLAGS:
        variable = f"TPU_{name[2:].upper()}{'=true' if kind is bool else ''}"
        sentence = f"{text} (default: {default}; environment: {variable})." if default else text
        how = {"action": "store_true"} if kind is bool else {"metavar": metavar, "type": kind}
        flags[name] = {**how, "default": None, "help": sentence}
    for flag, settings in flags.items():
        try:
            group.add_argument(flag, **settings)
        except argparse.ArgumentError:
            _LOG.debug("flag %s is already defined", flag)


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
        source_root=str(given("source_root") or "").strip(),
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
        _LOG.warning("TPU_PROFILE_%s_MB must be a number of MiB, not %r; using %d", name.upper(), value, default // MIB)
        return default
    return number * MIB
