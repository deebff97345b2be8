"""The sentence about input on top of the input page; the share names its base."""

from __future__ import annotations

from tpu_profile_plugin.analysis.steps.bottleneck import InputVerdict
from tpu_profile_plugin.run.figures.steps import UNSEEN

_INPUT = {
    "HIGHLY": "Input takes {0:.1f}% of the step time: it is prepared more slowly than the steps use it.",
    "MODERATELY": "Input takes {0:.1f}% of the step time.",
    "POTENTIALLY": "No event covers {0:.1f}% of the step time; it may be input, Python code or file access.",
    "NOT": "Input takes {0:.1f}% of the step time, so faster input can gain no more than that.",
    UNSEEN: "Whether the program waits for input is unknown: the profile has no event of an input pipeline.",
}


def input_text(verdict: InputVerdict) -> str:
    """The statement on input; "" without steps."""
    return _INPUT[verdict.level].format(verdict.percent) if verdict.level else ""
