"""Addresses of workers: parsed from user input, allowed or not, and looked up for names of Cloud TPUs.

This machine alone may be dialled, unless the operator of the server allowed more.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.errors import BadRequest, Forbidden, NotAvailable, NotFound
from tpu_profile_plugin.system.paths import writable_name
from tpu_profile_plugin.units import MIB

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


Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class AllowList:
    """Rules for addresses; loopback is always allowed.

    Attributes:
      patterns: host names with `*` ("*.lab.example"), IP addresses or networks ("10.0.0.0/8"), each with an optional
        ":port"; "*" allows everything.
    """

    patterns: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str | None) -> AllowList:
        return cls(tuple(part.strip().lower() for part in (text or "").split(",") if part.strip()))

    @classmethod
    def everything(cls) -> AllowList:
        """For commands that a user runs directly."""
        return cls(("*",))

    def check(self, address: Address, resolved: Iterable[Ip]) -> tuple[Ip, ...]:
        """The IPs of the address that may be dialled; raises Forbidden if there are none.

        The caller dials exactly these IPs, so that a second lookup of the name cannot lead elsewhere (DNS rebinding).
        """
        ips = tuple(resolved)
        if self._host_matches(address):
            return ips
        allowed = tuple(ip for ip in ips if _plain(ip).is_loopback or self._network_matches(ip, address.port))
        if allowed:
            return allowed
        raise Forbidden(
            f"{address} is not an allowed address: only this machine"
            + (f" and {', '.join(self.patterns)} are" if self.patterns else " is")
            + " allowed. The operator of TensorBoard can allow it with --profile_capture_hosts "
            f"(environment: TPU_PROFILE_CAPTURE_HOSTS), for instance --profile_capture_hosts={address.host}.",
            address=str(address),
        )

    def _host_matches(self, address: Address) -> bool:
        for pattern in self.patterns:
            name, port = _split(pattern)
            if port in (None, address.port) and fnmatch.fnmatchcase(address.host.rstrip("."), name):
                return True
        return False

    def _network_matches(self, ip: Ip, port: int) -> bool:
        for pattern in self.patterns:
            name, allowed_port = _split(pattern)
            try:
                network = ipaddress.ip_network(name, strict=False)
            except ValueError:
                continue
            plain = _plain(ip)
            if allowed_port in (None, port) and plain.version == network.version and plain in network:
                return True
        return False


def _plain(ip: Ip) -> Ip:
    """The IPv4 address of an IPv4-mapped IPv6 address (::ffff:10.0.0.1); other addresses unchanged."""
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return mapped or ip


def _split(pattern: str) -> tuple[str, int | None]:
    """A pattern without its port, and the port; brackets of IPv6 are removed."""
    if pattern.startswith("["):
        host, _, port = pattern[1:].partition("]")
        port = port.removeprefix(":")
    elif pattern.count(":") == 1:
        host, _, port = pattern.partition(":")
    else:
        host, port = pattern, ""
    return host, int(port) if port.isdigit() else None


PROFILER_PORT = 8466
"""The port of the profiler server of a Cloud TPU worker."""

METADATA = "http://metadata.google.internal/computeMetadata/v1/"
TPU_API = "https://tpu.googleapis.com/v2/"
INSTEAD = (
    "Enter the workers' addresses instead, such as 10.0.0.2:8466 (the output of `gcloud compute tpus tpu-vm describe "
    "NAME` shows them), or forward the port and enter localhost:8466."
)

_PART = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_TPU_NAME = re.compile(rf"(?:projects/(?P<project>[a-z0-9:.-]+)/locations/(?P<zone>{_PART})/nodes/)?(?P<name>{_PART})")
_CLOUD_S = 3.0

Fetch = Callable[[str, Mapping[str, str]], bytes]


def resolve_tpus(names: str, fetch: Fetch | None = None) -> tuple[Address, ...]:
    """The workers of TPUs by their names, separated by commas; each worker once. Errors as of `resolve_tpu`."""
    workers = [address for name in names.split(",") for address in resolve_tpu(name, fetch)]
    return tuple(dict.fromkeys(workers))


def resolve_tpu(name: str, fetch: Fetch | None = None) -> tuple[Address, ...]:
    """The workers of a TPU, by its name or its full resource name.

    Raises BadRequest for an invalid name, NotFound for an unknown TPU, NotAvailable without the metadata service.
    """
    match = _TPU_NAME.fullmatch(name.strip())
    if match is None:
        raise BadRequest(f"{name.strip()[:100]!r} is not the name of a TPU. {INSTEAD}", parameter="service_addr")
    get = fetch or _fetch
    flavor = {"Metadata-Flavor": "Google"}
    try:
        project = match["project"] or get(f"{METADATA}project/project-id", flavor).decode()
        zone = match["zone"] or get(f"{METADATA}instance/zone", flavor).decode().rsplit("/", 1)[-1]
        token = json.loads(get(f"{METADATA}instance/service-accounts/default/token", flavor))["access_token"]
    except (OSError, ValueError, KeyError) as error:
        message = f"The name of a TPU can be resolved only on a machine of its cloud project. {INSTEAD}"
        raise NotAvailable(message, tpu=match["name"]) from error
    resource = f"projects/{urllib.parse.quote(project)}/locations/{urllib.parse.quote(zone)}/nodes/{match['name']}"
    try:
        node = json.loads(get(TPU_API + resource, {"Authorization": f"Bearer {token}"}))
    except urllib.error.HTTPError as error:
        if error.code == 404:
            message = f"There is no TPU named {match['name']!r} in {zone}."
            raise NotFound(message, code="tpu_not_found", tpu=match["name"]) from error
        message = f"The TPU service refused to describe {match['name']!r} (status {error.code}). {INSTEAD}"
        raise NotAvailable(message, tpu=match["name"]) from error
    except (OSError, ValueError) as error:
        raise NotAvailable(f"The TPU service does not respond. {INSTEAD}", tpu=match["name"]) from error
    return _workers(match["name"], node)


def _workers(name: str, node: Any) -> tuple[Address, ...]:
    endpoints = node.get("networkEndpoints", []) if isinstance(node, dict) else []
    workers = [parse_address(str(end["ipAddress"]), PROFILER_PORT) for end in endpoints if end.get("ipAddress")]
    if not workers:
        state = str(node.get("state", "unknown")) if isinstance(node, dict) else "unknown"
        message = f"TPU {name!r} has no workers (its state: {state[:40]})."
        raise NotFound(message, code="tpu_not_found", tpu=name)
    return tuple(workers)


def _fetch(url: str, headers: Mapping[str, str]) -> bytes:
    request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310 - only the two services above
    with urllib.request.urlopen(request, timeout=_CLOUD_S) as answer:  # noqa: S310
        body: bytes = answer.read(MIB)
        return body
