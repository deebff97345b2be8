"""A client of one profiler server: connection, calls of ProfilerService and ProfileAnalysis, and their responses.

A profile is sliced out of a response byte for byte, without decoding it. `probe` tests addresses without capturing.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.capture import failures
from tpu_profile_plugin.capture.addresses import Address, AllowList, Ip
from tpu_profile_plugin.capture.failures import FORBIDDEN, WorkerFailure, from_status
from tpu_profile_plugin.capture.options import MAX_EVENTS, TOOLS, CaptureOptions
from tpu_profile_plugin.capture.relay import KEPT_FROM, Relay
from tpu_profile_plugin.errors import Forbidden, MissingPackage
from tpu_profile_plugin.protos import Method, message, method, parse
from tpu_profile_plugin.protos.wire import LENGTH, VARINT, MalformedMessage, fields
from tpu_profile_plugin.units import MS_PER_S


@dataclass(frozen=True)
class Response:
    """The fields of a ProfileResponse.

    Attributes:
      xspace: the serialized profile; None when the response has none.
      empty_trace: whether the worker reports that nothing was recorded.
    """

    xspace: memoryview | bytes | None
    empty_trace: bool


def read_response(data: bytes | memoryview) -> Response:
    """Parses a serialized ProfileResponse; raises MalformedMessage."""
    parts: list[memoryview] = []
    old: memoryview | None = None
    empty_trace = False
    view, response = memoryview(data), message("tensorflow.ProfileResponse")
    for number, wire, _, begin, end in fields(view):
        if number == response.XSPACE_FIELD_NUMBER and wire == LENGTH:
            parts.append(view[begin:end])
        elif number == response.EMPTY_TRACE_FIELD_NUMBER and wire == VARINT:
            empty_trace = any(byte & 0x7F for byte in view[begin:end])
        elif number == response.TOOL_DATA_FIELD_NUMBER and wire == LENGTH:
            # Current servers send no results of tools; some old ones send the profile as one.
            old = _xspace_of_tool_data(view, begin, end) or old
    if not parts:
        return Response(old, empty_trace)
    if len(parts) > 1 and len(data) > KEPT_FROM:
        raise MalformedMessage("a large profile in several parts", 0)
    # Repeated occurrences of a singular message field are merged, which is concatenation on the wire.
    return Response(parts[0] if len(parts) == 1 else b"".join(parts), empty_trace)


def _xspace_of_tool_data(view: memoryview, begin: int, end: int) -> memoryview | None:
    """The data of a ProfileToolData named xplane.pb; None for other names."""
    name, data, tool_data = b"", None, message("tensorflow.ProfileToolData")
    for number, wire, _, first, last in fields(view, begin, end):
        if wire == LENGTH and number == tool_data.NAME_FIELD_NUMBER:
            name = bytes(view[first : min(last, first + 200)])
        elif wire == LENGTH and number == tool_data.DATA_FIELD_NUMBER:
            data = view[first:last]
    return data if name.endswith(b"xplane.pb") else None


@dataclass(frozen=True)
class XSpaceOutline:
    """Whether an XSpace has any event, and the errors and warnings of the profiler."""

    has_events: bool
    errors: tuple[str, ...]
    warnings: tuple[str, ...]


def scan_xspace(xspace: memoryview | bytes) -> XSpaceOutline:
    """Walks the outermost levels of an XSpace, and planes up to the first event; raises MalformedMessage."""
    view, space = memoryview(xspace), message("tensorflow.profiler.XSpace")
    planes, errors, warnings = space.PLANES_FIELD_NUMBER, space.ERRORS_FIELD_NUMBER, space.WARNINGS_FIELD_NUMBER
    has_events = False
    texts: dict[int, list[str]] = {errors: [], warnings: []}
    for number, wire, _, begin, end in fields(view):
        if number == planes and wire == LENGTH:
            has_events = has_events or _plane_has_events(view, begin, end)
        elif number in texts and wire == LENGTH and len(texts[number]) < 20:
            texts[number].append(bytes(view[begin : min(end, begin + 500)]).decode("utf-8", "replace"))
    return XSpaceOutline(has_events, tuple(texts[errors]), tuple(texts[warnings]))


def _plane_has_events(view: memoryview, begin: int, end: int) -> bool:
    lines = message("tensorflow.profiler.XPlane").LINES_FIELD_NUMBER
    events = message("tensorflow.profiler.XLine").EVENTS_FIELD_NUMBER
    for number, wire, _, line_begin, line_end in fields(view, begin, end):
        if number == lines and wire == LENGTH:
            for inner, inner_wire, *_ in fields(view, line_begin, line_end):
                if inner == events and inner_wire == LENGTH:
                    return True
    return False


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


@dataclass(frozen=True)
class Channel:
    """A channel of gRPC, through a relay that keeps large responses on disk."""

    grpc: Any
    relay: Relay

    def close(self) -> None:
        """Ends the connection."""
        self.grpc.close()
        self.relay.close()


def open_channel(
    address: Address, ip: Ip, timeout_s: float = CONNECT_S, limit_bytes: int = MAX_RESPONSE_BYTES
) -> Channel:
    """A ready gRPC channel to exactly this IP; raises WorkerFailure if the server there does not speak gRPC.

    Raises MissingPackage where gRPC is not installed, such as on Pythons for which it has no wheels.
    """
    # Keeps messages of gRPC's core out of TensorBoard's terminal.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        import grpc
    except ImportError:
        message = "gRPC is not installed, which captures need: pip install grpcio"
        raise MissingPackage(message, package="grpcio") from None

    try:
        relay = Relay((str(ip), address.port), limit_bytes, timeout_s)
    except OSError as error:
        message = f"No connection can be prepared: {error.strerror or error}."
        raise WorkerFailure(failures.NOT_STORED, message) from error
    channel = grpc.insecure_channel(
        relay.target,
        options=[
            ("grpc.max_receive_message_length", limit_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.default_authority", str(address)),
            # Dial the allowed address itself, never a proxy, which may forward anywhere.
            ("grpc.enable_http_proxy", 0),
            ("grpc.enable_retries", 0),
            ("grpc.compression_enabled_algorithms_bitset", 1),  # none: no small message becomes a large one
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
        return Channel(channel, relay)
    channel.close()
    relay.close()
    raise WorkerFailure(
        failures.NOT_GRPC, f"Something listens on {address}, but it does not speak gRPC.", "UNAVAILABLE"
    )


def connect(
    address: Address, allowed: AllowList, limit_bytes: int = MAX_RESPONSE_BYTES, timeout_s: float = CONNECT_S
) -> Channel:
    """All steps in order; raises WorkerFailure, or Forbidden for an address that is not allowed."""
    ips = allowed.check(address, resolve(address))
    return open_channel(address, find_open_ip(address, ips, timeout_s), timeout_s, limit_bytes)


SHORT_S = 10.0
"""Deadline of calls that return immediately."""


def profile_request(
    options: CaptureOptions, root: str, session: str, host: str, start_ns: int, override_hostname: str = ""
) -> Any:
    """The request of a capture.

    The request asks for the bytes and also names a root: old servers cannot send bytes and write a file below it.
    """
    request = message("tensorflow.ProfileRequest")(
        duration_ms=options.duration_ms,
        max_events=MAX_EVENTS,
        tools=TOOLS,
        repository_root=root,
        session_id=session,
        host_name=host,
        emit_xspace=True,
    )
    request.opts.version = 1
    request.opts.host_tracer_level = options.host_tracer_level
    request.opts.device_tracer_level = options.device_tracer_level
    request.opts.python_tracer_level = options.python_tracer_level
    request.opts.include_dataset_ops = options.include_dataset_ops
    request.opts.enable_hlo_proto = options.enable_hlo_proto
    request.opts.device_type = message("tensorflow.ProfileOptions").DeviceType.Value(options.device_type.upper())
    request.opts.start_timestamp_ns = start_ns
    request.opts.duration_ms = options.duration_ms
    request.opts.repository_path = root
    if options.host_traceme_filter_mask is not None:
        request.opts.trace_options.host_traceme_filter_mask = options.host_traceme_filter_mask
    if override_hostname:
        request.opts.override_hostname = override_hostname
    for name, value in options.advanced.items():
        kind = "bool_value" if isinstance(value, bool) else "int64_value" if isinstance(value, int) else "string_value"
        setattr(request.opts.advanced_configuration[name], kind, value)
    return request


class ProfilerClient:
    """A client on an open channel; every method raises WorkerFailure. Use `close` or a `with` statement."""

    def __init__(self, channel: Channel, limit_bytes: int = (1 << 31) - 1) -> None:
        self._channel = channel
        self._limit = limit_bytes

    def __enter__(self) -> ProfilerClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection, which ends running calls."""
        self._channel.close()

    def profile(self, request: Any, deadline_s: float, on_call: Callable[[Any], None] = lambda _: None) -> Response:
        """Captures and waits for the response; `on_call` receives the running call, for cancelling it."""
        return self._response(self._call(_profiler("Profile"), request, deadline_s, on_call))

    def terminate(self, session: str) -> None:
        """Ends the capture of this session id; the running `profile` call returns what was recorded so far.

        Never call it for a capture that has ended: the server remembers the id and ends the next capture with that id.
        """
        terminate = _profiler("Terminate")
        self._call(terminate, terminate.request(session_id=session), SHORT_S)

    def start_continuous(self, request: Any) -> None:
        """Starts recording until `stop_continuous` (JAX 0.10 and TensorFlow 2.21 or newer)."""
        with failures.of_continuous():
            self._call(_profiler("StartContinuousProfiling"), request, SHORT_S)

    def snapshot(self, deadline_s: float = 60.0, on_call: Callable[[Any], None] = lambda _: None) -> Response:
        """The profile since the start or the last snapshot; recording starts anew."""
        snapshot = _profiler("GetSnapshot")
        with failures.of_continuous():
            return self._response(self._call(snapshot, snapshot.request(), deadline_s, on_call))

    def stop_continuous(self) -> None:
        stop = _profiler("StopContinuousProfiling")
        with failures.of_continuous():
            self._call(stop, stop.request(), SHORT_S)

    def new_session(
        self, request: Any, hosts: list[str], deadline_s: float, on_call: Callable[[Any], None] = lambda _: None
    ) -> bool:
        """Makes one Cloud TPU worker capture on all `hosts`, which write below the root; False for an empty trace."""
        new = method("tensorflow.ProfileAnalysis.NewSession")
        whole = new.request(
            request=request, repository_root=request.repository_root, hosts=hosts, session_id=request.session_id
        )
        answer = _parsed(new, self._call(new, whole, deadline_s, on_call))
        if answer.error_message:
            text = str(answer.error_message)[:500]
            raise WorkerFailure(failures.WORKER_FAILED, f"The profiler server failed: {text}", details=text)
        return not answer.empty_trace

    def _response(self, data: bytes) -> Response:
        relay = self._channel.relay
        try:
            return read_response(data or relay.take() or b"")
        except MalformedMessage as error:
            raise _garbled(str(error)) from error

    def _call(
        self, called: Method, request: Any, deadline_s: float, on_call: Callable[[Any], None] = lambda _: None
    ) -> bytes:
        import grpc

        # No deserializer: the response stays bytes, so that a profile of gigabytes is not copied into objects.
        ask = self._channel.grpc.unary_unary(called.path, request_serializer=lambda made: made.SerializeToString())
        call = ask.future(request, timeout=deadline_s)
        done = threading.Event()
        call.add_done_callback(lambda _: done.set())
        on_call(call)
        done.wait(deadline_s + SHORT_S)
        try:
            answer: bytes = call.result(timeout=0.0)
        except grpc.RpcError as error:
            if (fault := self._channel.relay.error) is not None:
                reason = fault.strerror or type(fault).__name__
                message = f"The profile cannot be received: {reason}."
                raise WorkerFailure(failures.NOT_STORED, message) from error
            raise from_status(error.code().name, error.details() or "", deadline_s, self._limit) from error
        except grpc.FutureCancelledError as error:
            raise WorkerFailure(failures.CANCELLED, "Cancelled.", "CANCELLED") from error
        except grpc.FutureTimeoutError as error:
            call.cancel()
            raise from_status("DEADLINE_EXCEEDED", "", deadline_s, self._limit) from error
        return answer


def _profiler(name: str) -> Method:
    return method(f"tensorflow.ProfilerService.{name}")


def _parsed(called: Method, data: bytes) -> Any:
    name = called.response.DESCRIPTOR.full_name
    answer = parse(name, data)
    if answer is None:
        raise _garbled(f"not a {name}")
    return answer


def _garbled(details: str) -> WorkerFailure:
    return WorkerFailure(
        failures.GARBLED, "The response is not that of a profiler server: it does not parse.", details=details
    )


STEPS = ("name", "allowed", "port", "grpc", "profiler")
_PROBE_S = 5.0


def probe(addresses: Sequence[Address], allowed: AllowList) -> list[dict[str, Any]]:
    """One result per address, checked in parallel."""
    with ThreadPoolExecutor(min(len(addresses), 64)) as pool:
        return list(pool.map(lambda address: _probe(address, allowed), addresses))


def _probe(address: Address, allowed: AllowList) -> dict[str, Any]:
    """Runs the steps up to the first failure; `steps` has true, false, or null for steps that were not run."""
    steps: dict[str, bool | None] = dict.fromkeys(STEPS)
    began = time.monotonic()
    failure: WorkerFailure | None = None
    step = "name"
    try:
        ips = resolve(address)
        steps[step], step = True, "allowed"
        ips = allowed.check(address, ips)
        steps[step], step = True, "port"
        ip = find_open_ip(address, ips, _PROBE_S)
        steps[step], step = True, "grpc"
        channel = open_channel(address, ip, _PROBE_S)
        steps[step], step = True, "profiler"
        with ProfilerClient(channel) as client:
            # A random id, because servers remember it and end a later capture with the same id.
            client.terminate(f"probe-{secrets.token_hex(8)}")
        steps[step] = True
    except Forbidden as error:
        failure, steps[step] = WorkerFailure(FORBIDDEN, error.message), False
    except WorkerFailure as error:
        failure, steps[step] = error, False
    return {
        "address": str(address),
        "ok": failure is None,
        "steps": steps,
        "milliseconds": round((time.monotonic() - began) * MS_PER_S, 1),
        "error": failure.describe() if failure is not None else None,
    }
