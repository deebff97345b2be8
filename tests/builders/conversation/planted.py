"""Programs with a planted cause: its finding, and the function, op or argument that an agent must have read of."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

_EXPECTED = runpy.run_path(str(Path(__file__).parents[3] / "scripts/soak/causes/expected.py"))["EXPECTED"]
CAUSES: dict[str, tuple[str, ...]] = {program: expected.first for program, expected in _EXPECTED.items()}
"""Program -> ids of findings of which one must come first; none for a healthy program."""
_WHERE = {
    "ragged_batches": r"jit_train_step was compiled",
    "annealed_static": r"jit_smooth was compiled",
    "forgotten_jit": r"jax_compile\.py:\d+ update",
    "eager_inference": r"jax_compile\.py:\d+ predict",
    "loss_of_microbatches": r"jax_host\.py:\d+ epoch",
    "greedy_decoding": r"jax_host\.py:\d+ generate",
    "logged_norms": r"jax_host\.py:\d+ write_log",
    "tokenizer_in_loop": r"jax_host\.py:\d+ encode_texts",
    "augmentation_in_loop": r"jax_host\.py:\d+ __call__",
    "starved_queue": r"queue\.py:\d+ get",
    "parsing_generator": r"jax_host\.py:\d+ records",
    "table_of_numpy": r"f32\[60000,256\] table",
    "constants_put_again": r"f32\[40000,256\] features",
    "shuffled_features": r"jax_device\.py:\d+",
    "attention_kept": r"jax_device\.py:\d+",
    "double_precision": r"jax_device\.py:\d+",
    "print_in_scan": r"debug_print at jax_device\.py:\d+",
    "metrics_by_callback": r"io_callback at jax_device\.py:\d+",
    "eager_optimizer": r"jax_idioms\.py:\d+ step",
    "new_lambda": r"jit__lambda was compiled",
    "converging_on_host": r"jax_idioms\.py:\d+ solve",
    "pool_of_one": r"_base\.py:\d+ result",
    "iterated_between_marks": r"jax_idioms\.py:\d+ read_batch",
    "parameters_of_numpy": r"params\[\d+\]",
    "sorted_by_numpy": r"pure_callback at jax_idioms\.py:\d+",
    "collectives": r"psum\.\d+ \(jax_eight\.py:\d+\)",
    "gathered_parameters": r"all_gather\.\d+ \(jax_eight\.py:\d+\)",
    "late_device": r"CPU device 0 is late",
    "host_sync": r"jax_eight\.py:\d+ fetch",
    "slow_loader": r"jax_eight\.py:\d+ load_batch",
    "new_shapes": r"dimension 0 was 512",
    "map_in_python": "MapAndBatch",
    "scoring_callback": r"tf_keras2\.py:\d+ on_train_batch_end",
    "eager_layers": r"tf_keras2\.py:\d+ train",
    "resized_images": "MapAndBatch",
    "python_generator": "Generator",
    "eager_training": r"\d+ eager ops \([\w, ]+\) per step",
    "retraced_schedule": r"train was traced \d+ times",
    "sequential_behind_prefetch": "MapAndBatch",
}
WHERE = {program: re.compile(text) for program, text in _WHERE.items()}
"""Program -> what its answers must have. Programs without it have no cause, or the recording cannot tell the place."""
