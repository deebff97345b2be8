"""Advice in the words of the framework that wrote a profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.op_names import JAX, PYTORCH, TENSORFLOW

PYTORCH_XLA = "PyTorch/XLA"


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do, in two sentences: for a framework, else in general; `keras` for programs that Keras runs.

    PyTorch/XLA has the advice for PyTorch unless it differs.
    """

    general: str
    jax: str = ""
    tensorflow: str = ""
    pytorch: str = ""
    pytorch_xla: str = ""
    keras: str = ""

    def of(self, frameworks: Sequence[str], *, keras: bool = False) -> str:
        """For the first framework of the run that has advice of its own."""
        tensorflow = self.keras if keras and self.keras else self.tensorflow
        advice = {JAX: self.jax, TENSORFLOW: tensorflow, PYTORCH: self.pytorch}
        advice[PYTORCH_XLA] = self.pytorch_xla or self.pytorch
        return next((advice[name] for name in frameworks if advice.get(name)), self.general)
