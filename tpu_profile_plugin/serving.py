"""Serves a logdir on this machine: for the command line until it is stopped, for notebooks beside their program."""

from __future__ import annotations

import errno
import importlib.util
import ipaddress
import os
import secrets
import socket
import sys
import threading
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

from tpu_profile_plugin.errors import NotAvailable
from tpu_profile_plugin.logdir.single import is_local_file
from tpu_profile_plugin.system.files import WINDOWS

TOKEN_VARIABLE = "TPU_PROFILE_TOKEN"  # noqa: S105 - its name
_lock = threading.Lock()
_servers: dict[str, str] = {}


def token_for(host: str) -> str:
    """The access token of a server: `TPU_PROFILE_TOKEN`, else a new one unless only this machine reaches the host."""
    return os.environ.get(TOKEN_VARIABLE) or ("" if is_loopback(host) else secrets.token_urlsafe(24))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host; names other than localhost are not looked up."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def board(
    logdir: str, port: int, executor: str = "", host: str = "127.0.0.1", token: str = "", source_root: str = ""
) -> Any:
    """A TensorBoard with this plugin only; `main()` runs it, `launch()` starts a thread.

    Args:
      logdir: a directory, a URL, or a profile that is shown alone.
      host: the address that it is bound to.
      token: what requests must have (`server/http/token.py`); "" for none.
      source_root: directory below which source files are shown; "" for none.
    """
    from tensorboard import assets, program
    from tensorboard.plugins.core.core_plugin import CorePluginLoader

    from tpu_profile_plugin.plugin import ProfilePluginLoader

    file = logdir if is_local_file(logdir) else ""
    loaders = [CorePluginLoader(), ProfilePluginLoader(alone=True, file=file)]
    made = program.TensorBoard(loaders, assets.get_default_assets_zip_provider(), _server(token))
    # TensorBoard reads directories only: in place of a file it is given one that does not exist.
    place = str(Path(file, "none")) if file else logdir
    argv = ["tpu-profile", "--logdir", place, "--port", str(port), "--host", host, "--load_fast", "false"]
    if executor:
        argv += ["--profile_executor", executor]
    if source_root:
        argv += ["--profile_source_root", source_root]
    if token and "TPU_PROFILE_SERVER_NAMES" not in os.environ:
        # Under whichever name a browser reaches it: a page whose name was made to resolve to this machine has no token.
        argv += ["--profile_server_names", "*"]
    made.configure(argv=argv)
    return made


def _server(token: str) -> Any:
    """A server that answers the probes of TensorBoard's page, asks for the token, and has it in its address."""
    from tensorboard import program

    from tpu_profile_plugin.server.http.listening import Listening
    from tpu_profile_plugin.server.http.probes import answering
    from tpu_profile_plugin.server.http.token import PARAMETER, guarded

    class Own(program.TensorBoardServer):  # type: ignore[misc]
        def __init__(self, wsgi_app: Any, flags: Any) -> None:
            app = answering(wsgi_app)
            self._host, self._prefix = flags.host, flags.path_prefix.rstrip("/")
            try:
                self._socket = _bound(flags.host, flags.port)
            except OSError as error:
                reason = error.strerror or str(error)
                if error.errno == errno.EADDRINUSE:
                    raise program.TensorBoardPortInUseError(f"Port {flags.port} is already in use.") from error
                raise program.TensorBoardServerException(f"{flags.host}:{flags.port}: {reason}.") from error
            self._listening = Listening(guarded(app, token) if token else app, self._socket)

        def serve_forever(self) -> None:
            self._listening.run()

        def get_url(self) -> str:
            host = f"[{self._host}]" if ":" in self._host and not self._host.startswith("[") else self._host
            url = f"http://{host}:{self._listening.effective_port}{self._prefix}/"
            return f"{url}?{urlencode({PARAMETER: token})}" if token else url

    return program.with_port_scanning(Own)


def _bound(host: str, port: int) -> socket.socket:
    """A socket on the first address of a host; raises OSError, also if a wildcard address has the port."""
    with socket.socket() as probe:
        if port and probe.connect_ex(("localhost", port)) == 0:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    family, kind, protocol, _, place = socket.getaddrinfo(
        host.strip("[]") or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, not WINDOWS)
        made.bind(place)
    except OSError:
        made.close()
        raise
    return made


def address(logdir: str) -> str:
    """The URL of a server of this logdir: started once per process, on a free port, and ended with the process."""
    with _lock:
        if logdir not in _servers:
            _servers[logdir] = str(board(logdir, 0).launch())
        return _servers[logdir]


def door(logdir: str) -> Literal["widget", "server", "report"]:
    """What shows the pages of a logdir in the notebook that runs this program, the first that is possible."""
    if has_widgets():
        return "widget"
    return "report" if "google.colab" in sys.modules or not _is_served(logdir) else "server"


def has_widgets() -> bool:
    """Whether a kernel of Jupyter or marimo runs this program, and anywidget is installed there."""
    if importlib.util.find_spec("anywidget") is None:
        return False
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    marimo = sys.modules.get("marimo")
    return getattr(shell, "kernel", None) is not None or (marimo is not None and marimo.running_in_notebook())


def _is_served(logdir: str) -> bool:
    return "://" in logdir or Path(logdir).exists()


class Frame:
    """A page in a notebook, of a server.

    Attributes:
      url: the address of the page.
      height: of the frame, in pixels.
    """

    def __init__(self, url: str, height: int) -> None:
        self.url, self.height = url, height

    def _repr_html_(self) -> str:
        url = escape(self.url)
        return (
            f'<iframe src="{url}" width="100%" height="{self.height}" frameborder="0" allowfullscreen></iframe>'
            f'<p>Shown by a server. <a href="{url}" target="_blank" rel="noopener">Open in a tab</a>. If the frame '
            "stays empty, the program runs on another machine than the browser: forward its port, or install the extra "
            "<code>notebook</code>, which needs none.</p>"
        )

    def __repr__(self) -> str:
        return f"<Frame {self.url}>"


def shown(logdir: str, keys: Mapping[str, str], height: int) -> Frame:
    """A page as a notebook shows it; `keys` are those of its address. Raises NotAvailable where none can be shown."""
    if "google.colab" in sys.modules:
        raise NotAvailable(
            "In Colab the browser does not reach a server on the machine of the program: run.widget() and run.report() "
            "need none."
        )
    if not _is_served(logdir):
        raise NotAvailable("A server shows files: write the bytes to DIRECTORY/HOST.xplane.pb and open that.")
    if "://" not in logdir:
        logdir = str(Path(logdir).resolve())
    return Frame(f"{address(logdir)}data/plugin/profile/index.html?{urlencode(keys)}", height)
