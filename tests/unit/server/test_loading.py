"""Initialisation that must happen once per process, with simultaneous first requests."""

import json
import subprocess
import sys
import threading
import time

import pytest
from builders.logdirs import SMALL, write

import tpu_profile_plugin
from tpu_profile_plugin.cache.files import build_identity
from tpu_profile_plugin.capture import job
from tpu_profile_plugin.server.captures import CaptureRoutes
from tpu_profile_plugin.server.options import Options

# Records which thread runs each of our modules, slowly enough for other threads to start importing.
PROGRAM = """
import importlib.machinery, json, sys, threading, time
from tpu_profile_plugin.server.app import Server
from tpu_profile_plugin.server.options import Options

ran = {}
def noting(cls):
    real = cls.exec_module
    def exec_module(self, module):
        if module.__name__.partition(".")[0] in ("tpu_profile_plugin", "numpy"):
            ran[module.__name__] = threading.get_ident()
            time.sleep(0.001)
        real(self, module)
    cls.exec_module = exec_module
noting(importlib.machinery.SourceFileLoader)
noting(importlib.machinery.ExtensionFileLoader)

apps = Server(Options(logdir=sys.argv[1], cache_dir="off")).apps()
queries = {
    "/index.html": "", "/hosts": "run=s&tag=trace_viewer@", "/run_tools": "run=s", "/run_info": "run=s",
    "/module_list": "run=s", "/data": "run=s&tag=overview_page&host=h", "/progress": "run=s&tag=op_profile&host=h",
    "/data_csv": "run=s&tag=profile_contents&host=h", "/capture_jobs": "",
}
begin, answers = threading.Barrier(len(queries)), {}
def ask(route, query):
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": route, "QUERY_STRING": query, "wsgi.url_scheme": "http",
               "SERVER_NAME": "localhost", "SERVER_PORT": "80", "HTTP_HOST": "localhost"}
    begin.wait()
    apps[route](environ, lambda status, headers: answers.setdefault(route, status))
threads = [threading.Thread(target=ask, args=item) for item in queries.items()]
for thread in threads: thread.start()
for thread in threads: thread.join()
ours = {name: who for name, who in ran.items() if not name.startswith("tpu_profile_plugin.capture")}
print(json.dumps({"answers": answers, "modules": len(ours), "threads": len(set(ours.values())),
                  "registry": "tpu_profile_plugin.tools.registry" in ours, "numpy": "numpy" in ours}))
"""


def test_simultaneous_first_requests_import_on_one_thread(tmp_path):
    logdir = write(tmp_path / "logs", {"plugins/profile/s/h.xplane.pb": SMALL})
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(logdir)], capture_output=True, text=True, check=True, timeout=120
    )
    found = json.loads(done.stdout)
    page = found["answers"].pop("/index.html")
    assert page in ("200 OK", "503 SERVICE UNAVAILABLE", "503 Service Unavailable"), "the page may not be built"
    assert set(found["answers"].values()) == {"200 OK"}, found["answers"]
    assert found["registry"]
    assert found["numpy"]
    assert found["modules"] > 50
    assert found["threads"] == 1


@pytest.mark.parametrize("route", ["/runs", "/runs_info", "/index.js", "/index.html"])
def test_tools_are_loaded_before_they_are_requested(tmp_path, route):
    """Loading takes a quarter of a second of CPU; a client that lists runs or opens the page needs the tools next."""
    code = (
        "import sys, threading\n"
        "from tpu_profile_plugin.server.app import Server\n"
        "from tpu_profile_plugin.server.http.answer import Assets\n"
        "from tpu_profile_plugin.server.options import Options\n"
        "import pathlib; built = pathlib.Path(sys.argv[1])\n"
        "(built / 'index.html').write_text('<html></html>'); (built / 'index.js').write_text('export {}')\n"
        "apps = Server(Options(logdir=sys.argv[1], cache_dir='off'), assets=Assets(built)).apps()\n"
        "def ask(route):\n"
        "    environ = {'REQUEST_METHOD': 'GET', 'PATH_INFO': route, 'wsgi.url_scheme': 'http',\n"
        "               'SERVER_NAME': 'localhost', 'SERVER_PORT': '80', 'HTTP_HOST': 'localhost'}\n"
        "    apps[route](environ, lambda status, headers: print(status[:3]))\n"
        "ask('/version')\n"
        "loading = lambda: [t for t in threading.enumerate() if t.name == 'profile-load']\n"
        "print(len(loading()), 'numpy' in sys.modules)\n"
        "ask(sys.argv[2])\n"
        "for thread in loading(): thread.join()\n"
        "print('tpu_profile_plugin.tools.registry' in sys.modules)\n"
        "ask(sys.argv[2]); print(len(loading()))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path), route]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    assert found == ["200", "0", "False", "200", "True", "200", "0"]


@pytest.mark.parametrize("enabled", [True, False])
def test_a_full_collection_skips_what_lives_as_long_as_the_server(enabled):
    code = (
        "import gc, sys\n"
        "from tpu_profile_plugin.server.loading import load_tools\n"
        f"gc.enable() if {enabled} else gc.disable()\n"
        "during = []\n"
        "gc.callbacks.append(lambda phase, facts: during.append(facts['generation']))\n"
        "load_tools()\n"
        "print(gc.get_freeze_count() > 30_000, len(gc.get_objects()) < 3_000, gc.isenabled(), 2 in during)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["True", "True", str(enabled), "False"]


def test_garbage_of_a_program_beside_the_server_is_collected():
    code = (
        "import gc, sys, weakref\n"
        "from tpu_profile_plugin.server.loading import load_tools\n"
        "class Cycle: pass\n"
        "one = Cycle(); one.self = one; known = weakref.ref(one); del one\n"
        "before = gc.get_freeze_count()  # Python 3.12 begins with some\n"
        "load_tools(alone=False); load_tools(); gc.collect()\n"
        "print(gc.get_freeze_count() - before, known())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["0", "None"]


def test_simultaneous_first_captures_share_one_history(monkeypatch):
    made = []
    real = job.Jobs.__init__

    def slow(self, *args, **kwargs):
        made.append(self)
        time.sleep(0.05)
        real(self, *args, **kwargs)

    monkeypatch.setattr(job.Jobs, "__init__", slow)
    routes = CaptureRoutes(Options(logdir="/nowhere"))
    threads = [threading.Thread(target=lambda: routes.jobs) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert routes.jobs is made[0]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_source_file_that_is_being_replaced(tmp_path, monkeypatch):
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "gone.py").symlink_to(tmp_path / "not-there.py")
    monkeypatch.setattr(tpu_profile_plugin, "__file__", str(tmp_path / "__init__.py"))
    try:
        found = set()
        for _ in range(2):
            build_identity.cache_clear()
            found.add(build_identity())
        assert len(found) == 2, "the code is unknown, so no answer may be reused"
    finally:
        build_identity.cache_clear()
