"""The addresses that may be dialled: this machine only, unless the operator of the server allowed more."""

from __future__ import annotations

import fnmatch
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from tpu_profile_plugin.capture.wire.addresses import Address
from tpu_profile_plugin.errors import Forbidden

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
        """Parses a comma-separated list of patterns."""
        return cls(tuple(part.strip().lower() for part in (text or "").split(",") if part.strip()))

    @classmethod
    def everything(cls) -> AllowList:
        """Allows every address, for commands that a user runs directly."""
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
