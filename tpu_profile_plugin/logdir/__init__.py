"""Finds runs and hosts in a logdir and reads the bytes of their profiles; never writes to it."""

from tpu_profile_plugin.logdir.allowed import AllowedRoots
from tpu_profile_plugin.logdir.content import ContentCache
from tpu_profile_plugin.logdir.logdir import Logdir
from tpu_profile_plugin.logdir.model import HostFile, Problem, RunFiles

__all__ = ["AllowedRoots", "ContentCache", "HostFile", "Logdir", "Problem", "RunFiles"]
