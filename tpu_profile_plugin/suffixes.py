"""Endings of profile file names. They decide which files a logdir lists; `formats` reads a file by its content."""

XPLANE = ".xplane.pb"
RIEGELI = ".xplane.riegeli"
"""Record files, in which profilers save a long capture part by part; each record is an XSpace."""

PYTORCH = (".pt.trace.json", ".pt.trace.json.gz", ".pt.trace.json.zst")
"""Traces that PyTorch's own profiler writes, one per rank."""

PROFILES = (XPLANE, RIEGELI, *PYTORCH)
"""All that was recorded of a host, in any format: such a file makes its directory a run."""

TRACE_JSON = ".trace.json.gz"
"""The timeline alone, which JAX writes beside a profile."""
