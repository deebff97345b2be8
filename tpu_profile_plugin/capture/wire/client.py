"""A client of one profiler server: the calls of tensorflow.ProfilerService and ProfileAnalysis."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tpu_profile_plugin.capture.options import MAX_EVENTS, TOOLS, CaptureOptions
from tpu_profile_plugin.capture.wire import failures
from tpu_profile_plugin.capture.wire.failures import WorkerFailure, from_status
from tpu_profile_plugin.capture.wire.response import Response, read_response
from tpu_profile_plugin.protos import Method, message, method, parse
from tpu_profile_plugin.protos.wire import MalformedMessage

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

    def __init__(self, channel: Any, limit_bytes: int = (1 << 31) - 1) -> None:
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
        """Stops continuous recording."""
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
        try:
            return read_response(data)
        except MalformedMessage as error:
            raise _garbled(str(error)) from error

    def _call(
        self, called: Method, request: Any, deadline_s: float, on_call: Callable[[Any], None] = lambda _: None
    ) -> bytes:
        import grpc

        # No deserializer: the response stays bytes, so that a profile of gigabytes is not copied into objects.
        call = self._channel.unary_unary(called.path, request_serializer=lambda made: made.SerializeToString()).future(
            request, timeout=deadline_s
        )
        done = threading.Event()
        call.add_done_callback(lambda _: done.set())
        on_call(call)
        done.wait(deadline_s + SHORT_S)
        try:
            answer: bytes = call.result(timeout=0.0)
        except grpc.RpcError as error:
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
