"""Worker addresses: parsed from user input, and converted to host names for files."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.system.paths import writable_name

MAX_ADDRESSES = 512
"""The most workers in one capture."""

_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Address:
    """One worker: a host name or an IP address without brackets, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def file_host(self) -> str:
        """The host name for files, e.g. "worker-0_9012"; letters, digits, dot, dash and underscore only."""
        return safe_name(f"{self.host.replace(':', '-').strip('-')}_{self.port}")


def parse_address(text: str, default_port: int | None = None) -> Address:
    """Parses "host:port" or "[v6]:port", with or without "grpc://"; raises BadRequest with the reason."""
    plain = text.strip()
    if "://" in plain:
        scheme, _, plain = plain.partition("://")
        if scheme.lower() != "grpc":
            raise _refused(text, f"begins with {scheme[:20]}://; only grpc:// or no scheme is allowed")
    plain = plain.rstrip("/")
    if plain.startswith("["):
        host, bracket, port_text = plain[1:].partition("]")
        if not bracket or _ip_version(host) != 6:
            raise _refused(text, "is not an IPv6 address in brackets, such as [::1]:9012")
        port_text = port_text.removeprefix(":")
    elif plain.count(":") > 1:
        raise _refused(text, "has several colons; write an IPv6 address in brackets, such as [::1]:9012")
    else:
        host, _, port_text = plain.partition(":")
    if not host:
        raise _refused(text, "has no host")
    if _ip_version(host) is None and not all(_NAME.fullmatch(part) for part in host.rstrip(".").split(".")):
        raise _refused(text, "is not a host name or an IP address")
    return Address(host.lower(), _port(text, port_text, default_port))


def parse_addresses(texts: str | Iterable[str], default_port: int | None = None) -> tuple[Address, ...]:
    """Parses a comma-separated list or several texts; drops blanks and duplicates. Raises BadRequest."""
    parts = texts.split(",") if isinstance(texts, str) else [part for text in texts for part in text.split(",")]
    addresses = tuple(dict.fromkeys(parse_address(part, default_port) for part in parts if part.strip()))
    if not addresses:
        raise BadRequest(
            "No address was given: enter the host and port of the profiler server, such as localhost:9012.",
            parameter="service_addr",
        )
    if len(addresses) > MAX_ADDRESSES:
        message = f"{len(addresses)} addresses are too many; the limit is {MAX_ADDRESSES}."
        raise BadRequest(message, parameter="service_addr")
    return addresses


def safe_name(text: str, fallback: str = "host") -> str:
    """`text` as the name of a file or directory: safe characters only, no leading dot, at most 120 characters."""
    return writable_name(_UNSAFE.sub("_", text).lstrip(".-_")[:120] or fallback)


def unique_names(addresses: Iterable[Address]) -> dict[Address, str]:
    """The host name for files of every address, all different."""
    names: dict[Address, str] = {}
    for address in addresses:
        name, count = address.file_host, 1
        while name in names.values():
            count += 1
            name = f"{address.file_host}_{count}"
        names[address] = name
    return names


def _ip_version(host: str) -> int | None:
    try:
        return ipaddress.ip_address(host).version
    except ValueError:
        return None


def _port(text: str, port_text: str, default_port: int | None) -> int:
    if not port_text and default_port is not None:
        return default_port
    if not port_text:
        raise _refused(text, "has no port; write host:port, such as localhost:9012")
    if not (port_text.isascii() and port_text.isdigit() and 0 < int(port_text[:6]) < 65536):
        raise _refused(text, "has no valid port; a port is a number from 1 to 65535")
    return int(port_text)


def _refused(text: str, why: str) -> BadRequest:
    return BadRequest(f"{text.strip()[:100]!r} {why}.", parameter="service_addr", value=text.strip()[:100])
