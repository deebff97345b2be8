"""Which functions of Python belong to the program."""

from __future__ import annotations

import pytest

from tpu_profile_plugin.analysis.budget.host_names import is_library, is_user_frame


@pytest.mark.parametrize(
    ("file", "function", "library"),
    [
        ("base_layer.py", "__call__", True),
        ("backprop.py", "gradient", True),
        ("_base.py", "result", True),
        ("gen_math_ops.py", "mat_mul", True),
        ("__autograph_generated_file8rsn0m1i.py", "tf__step", True),
        # Programs have files of these names as well: only functions of the frameworks are left out.
        ("training.py", "train_on_batch", True),
        ("training.py", "augment", False),
        ("optimizer.py", "apply_gradients", True),
        ("optimizer.py", "schedule", False),
        ("utils.py", "load", False),
        ("train.py", "main", False),
        ("callbacks.py", "on_train_batch_end", False),
    ],
)
def test_files_and_functions(file, function, library):
    assert is_library(file, function) is library
    assert is_user_frame(f"${file}:12 {function}") is not library
