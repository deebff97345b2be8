"""Connects to a worker: resolves its name, finds an IP that accepts connections, opens a gRPC channel."""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from tpu_profile_plugin.capture.wire import failures
from tpu_profile_plugin.capture.wire.addresses import Address
from tpu_profile_plugin.capture.wire.allow import AllowList, Ip
from tpu_profile_plugin.capture.wire.failures import WorkerFailure

CONNECT_S = 10.0
"""Time limit of each of the two steps, TCP and gRPC."""

MAX_RESPONSE_BYTES = (1 << 31) - 1
"""Profilers' protobuf runtimes cannot produce a larger message."""

Cancelled = Callable[[], bool]


def resolve(address: Address) -> tuple[Ip, ...]:
    """All IPs of the host, without duplicates, in the resolver's order; raises WorkerFailure if there are none."""
    try:
        infos = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise WorkerFailure(
            failures.UNRESOLVED, f"The name {address.host} cannot be resolved: {reason}.", details=str(error)
        ) from error
    texts = dict.fromkeys(str(info[4][0]).partition("%")[0] for info in infos)
    return tuple(ipaddress.ip_address(text) for text in texts)


def find_open_ip(address: Address, ips: Sequence[Ip], timeout_s: float = CONNECT_S) -> Ip:
    """The first IP that accepts a TCP connection; raises WorkerFailure."""
    refused: OSError | None = None
    other: OSError | None = None
    deadline = time.monotonic() + timeout_s
    for ip in ips:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            break
        try:
            socket.create_connection(
                (str(ip), address.port), timeout=remaining / 2 if ip != ips[-1] else remaining
            ).close()
            return ip
        except ConnectionRefusedError as error:
            refused = error
        except OSError as error:
            other = error
    if other is None and refused is not None:
        message = f"Nothing listens on {address}: the connection was refused."
        raise WorkerFailure(failures.REFUSED, message, "UNAVAILABLE", str(refused)) from refused
    why = (
        "it did not respond in time"
        if other is None or isinstance(other, TimeoutError)
        else str(other.strerror or other)
    )
    raise WorkerFailure(failures.UNREACHED, f"{address} cannot be reached: {why}.", "UNAVAILABLE", str(other or ""))


def open_channel(address: Address, ip: Ip, timeout_s: float = CONNECT_S, limit_bytes: int = MAX_RESPONSE_BYTES) -> Any:
    """A ready gRPC channel to exactly this IP; raises WorkerFailure if the server there does not speak gRPC."""
    # Keeps messages of gRPC's core out of TensorBoard's terminal.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import grpc

    target = f"ipv6:[{ip}]:{address.port}" if ip.version == 6 else f"ipv4:{ip}:{address.port}"
    channel = grpc.insecure_channel(
        target,
        options=[
            ("grpc.max_receive_message_length", limit_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.default_authority", str(address)),
            # Dial the allowed address itself, never a proxy, which may forward anywhere.
            ("grpc.enable_http_proxy", 0),
            ("grpc.enable_retries", 0),
            # A capture sends nothing until it ends; pings detect a machine that has become unreachable.
            ("grpc.keepalive_time_ms", 30_000),
            ("grpc.keepalive_timeout_ms", 20_000),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.use_local_subchannel_pool", 1),
        ],
    )
    done = threading.Event()
    states: list[Any] = []

    def changed(state: Any) -> None:
        states.append(state)
        if state in (grpc.ChannelConnectivity.READY, grpc.ChannelConnectivity.TRANSIENT_FAILURE):
            done.set()

    channel.subscribe(changed, try_to_connect=True)
    done.wait(timeout_s)
    channel.unsubscribe(changed)
    if (states and states[-1] is grpc.ChannelConnectivity.READY) or grpc.ChannelConnectivity.READY in states:
        return channel
    channel.close()
    raise WorkerFailure(
        failures.NOT_GRPC, f"Something listens on {address}, but it does not speak gRPC.", "UNAVAILABLE"
    )


def connect(
    address: Address, allowed: AllowList, limit_bytes: int = MAX_RESPONSE_BYTES, timeout_s: float = CONNECT_S
) -> Any:
    """All steps in order; raises WorkerFailure, or Forbidden for an address that is not allowed."""
    ips = allowed.check(address, resolve(address))
    return open_channel(address, find_open_ip(address, ips, timeout_s), timeout_s, limit_bytes)
