"""Errors of remote stores as messages (address, reason, remedy) without secrets."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from tpu_profile_plugin.errors import ProfileError, StorageFailed

# Error classes of the libraries that fsspec uses, by name, because the libraries are optional.
_CREDENTIALS = {
    "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "DefaultCredentialsError",
    "RefreshError", "ProfileNotFound", "TokenRetrievalError", "UnauthorizedSSOTokenError", "SSOTokenLoadError",
}  # fmt: skip
_NETWORK = {
    "EndpointConnectionError", "ConnectTimeoutError", "ConnectionClosedError", "ProxyConnectionError", "SSLError",
    "TransportError", "ClientConnectorError", "ClientOSError", "ServerDisconnectedError", "ConnectionTimeoutError",
}  # fmt: skip
_MISSING = {"FileNotFoundError", "ParamValidationError", "InvalidBucketName"}
_SLOW = {"TimeoutError", "ReadTimeoutError", "FSTimeoutError", "SocketTimeoutError", "ServerTimeoutError"}
_DENIED = {
    "401", "403", "AccessDenied", "AllAccessDisabled", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken",
}  # fmt: skip

_SIGN_IN_HINTS = {
    "s3": "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and start TensorBoard again; "
    "for a public bucket set FSSPEC_S3_ANON=true.",
    "gs": "Run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a key file, and start "
    "TensorBoard again; for a public bucket set FSSPEC_GS_TOKEN=anon.",
}
_SIGN_IN_HINTS["s3a"], _SIGN_IN_HINTS["gcs"] = _SIGN_IN_HINTS["s3"], _SIGN_IN_HINTS["gs"]


def redacted_url(url: str) -> str:
    """A URL without user, password and query, which may be secrets."""
    if "://" not in url:
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.split("://", 1)[0] + "://"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def storage_error(error: BaseException, address: str) -> ProfileError:
    """The ProfileError to show for an error that a remote store raised."""
    if isinstance(error, ProfileError):
        return error
    where, protocol = redacted_url(address), address.split("://", 1)[0]
    chain = list(_chain(error))
    names = {kind.__name__ for cause in chain for kind in type(cause).__mro__}
    codes = {str(code) for cause in chain for code in _codes(cause)}
    if names & _CREDENTIALS:
        how = _SIGN_IN_HINTS.get(protocol, "")
        return _failed("storage_credentials", f"{where} needs credentials, and no valid ones were found. {how}", where)
    if codes & _DENIED or any(isinstance(cause, PermissionError) for cause in chain):
        reason = next(iter(sorted(code for code in codes & _DENIED if not code.isdigit())), "access denied")
        how = _SIGN_IN_HINTS.get(protocol, "")
        return _failed(
            "storage_denied", f"Access to {where} was denied with these credentials ({reason}). {how}", where
        )
    if names & _MISSING or codes & {"404", "NoSuchBucket"}:
        return _failed("storage_missing", f"{where} does not exist. Check the names of the bucket and the path.", where)
    if names & _NETWORK or any(isinstance(cause, (ConnectionError, socket.gaierror)) for cause in chain):
        return _failed(
            "storage_unreachable",
            f"{where} cannot be reached. Check the network, and the proxy if there is one.",
            where,
        )
    if names & _SLOW:
        return _failed(
            "storage_slow",
            f"{where} did not respond in time: it is slow, or the network is down. Try again in a moment.",
            where,
        )
    what = ", ".join([type(error).__name__, *sorted(codes)][:3])
    return _failed("storage_failed", f"{where} could not be read ({what}).", where)


def _failed(code: str, message: str, where: str) -> StorageFailed:
    return StorageFailed(message.strip(), code=code, address=where)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(10):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _codes(error: Any) -> Iterator[Any]:
    """The codes in errors of S3 and Google: `response["Error"]["Code"]`, `code`, `status`."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        yield response.get("Error", {}).get("Code")
    for name in ("code", "status"):
        code = getattr(error, name, None)
        if isinstance(code, int):
            yield code
