"""Serves XProf's own plugin on the loopback interface; its command line listens on every interface.

Runs in an environment that has xprof: reference_server.py LOGDIR PORT. Nothing of it runs in ours.
"""

from __future__ import annotations

import sys

from cheroot import wsgi
from xprof import profile_plugin_loader, server
from xprof.standalone import base_plugin, plugin_event_multiplexer


def main() -> None:
    """Serves until it is stopped."""
    logdir, port = sys.argv[1], int(sys.argv[2])
    context = base_plugin.TBContext(
        logdir, plugin_event_multiplexer.DataProvider(logdir), base_plugin.TBContext.Flags(False)
    )
    context.hide_capture_profile_button = False
    context.enable_tab_name_label = False
    context.src_prefix = None
    plugin = profile_plugin_loader.ProfilePluginLoader().load(context)
    wsgi.Server(("127.0.0.1", port), server.make_wsgi_app(plugin)).start()


if __name__ == "__main__":
    main()
