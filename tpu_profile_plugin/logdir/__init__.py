"""Finds runs and hosts in a logdir and reads the bytes of their profiles; never writes to it."""

from tpu_profile_plugin.logdir.logdir import AllowedRoots, Logdir
from tpu_profile_plugin.logdir.model import HostFile, Problem, RunFiles
from tpu_profile_plugin.logdir.remote import ContentCache

__all__ = ["AllowedRoots", "ContentCache", "HostFile", "Logdir", "Problem", "RunFiles"]
