"""What the tools must say of each program: EXPECTED, and BUDGET for programs whose devices the time budget can read."""

from __future__ import annotations

from typing import NamedTuple


class Expected(NamedTuple):
    """Where a program is, and the ids of findings of which one must come first: none for a healthy program."""

    module: str
    first: tuple[str, ...] = ()


INPUT_ON_HOST = ("slow_host_code", "input_bound")
"""Input that is prepared in Python: either name sends the reader to the right function."""

EXPECTED = {
    "ragged_batches": Expected("jax_compile", ("recompilation",)),
    "annealed_static": Expected("jax_compile", ("recompilation",)),
    "forgotten_jit": Expected("jax_compile", ("not_compiled",)),
    "eager_inference": Expected("jax_compile", ("not_compiled",)),
    "loss_of_microbatches": Expected("jax_host", ("host_sync",)),
    "greedy_decoding": Expected("jax_host", ("host_sync",)),
    "logged_norms": Expected("jax_host", ("host_sync",)),
    "tokenizer_in_loop": Expected("jax_host", ("slow_host_code",)),
    "augmentation_in_loop": Expected("jax_host", ("slow_host_code",)),
    "starved_queue": Expected("jax_host", ("input_bound", "slow_host_code")),
    "parsing_generator": Expected("jax_host", INPUT_ON_HOST),
    "table_of_numpy": Expected("jax_device", ("repeated_transfer",)),
    "constants_put_again": Expected("jax_device", ("repeated_transfer",)),
    "shuffled_features": Expected("jax_device", ("data_movement",)),
    "attention_kept": Expected("jax_device", ("kept_for_backward",)),
    "double_precision": Expected("jax_device", ("low_precision_unused",)),
    "print_in_scan": Expected("jax_device", ("debug_callbacks",)),
    "metrics_by_callback": Expected("jax_device", ("debug_callbacks",)),
    "eager_optimizer": Expected("jax_idioms", ("not_compiled",)),
    "new_lambda": Expected("jax_idioms", ("recompilation",)),
    "converging_on_host": Expected("jax_idioms", ("host_sync",)),
    "pool_of_one": Expected("jax_idioms", ("input_bound",)),
    "iterated_between_marks": Expected("jax_idioms", ("input_bound",)),
    "parameters_of_numpy": Expected("jax_idioms", ("repeated_transfer",)),
    "sorted_by_numpy": Expected("jax_idioms", ("debug_callbacks",)),
    "scanned_epochs": Expected("jax_idioms"),
    "async_training": Expected("jax_healthy"),
    "waiting_training": Expected("jax_healthy"),
    "unmarked_training": Expected("jax_healthy", ("steps_not_marked",)),
    "healthy": Expected("jax_eight"),
    "two_balanced": Expected("jax_eight"),
    "collectives": Expected("jax_eight", ("exposed_communication",)),
    "gathered_parameters": Expected("jax_eight", ("exposed_communication",)),
    "late_device": Expected("jax_eight", ("straggler",)),
    "host_sync": Expected("jax_eight", ("host_sync",)),
    "slow_loader": Expected("jax_eight", INPUT_ON_HOST),
    "new_shapes": Expected("jax_eight", ("recompilation",)),
    "map_in_python": Expected("tf_keras", ("input_bound",)),
    "histogram_callback": Expected("tf_keras", ("slow_host_code",)),
    "fit_with_prefetch": Expected("tf_keras"),
    "scoring_callback": Expected("tf_keras2", ("slow_host_code",)),
    "eager_layers": Expected("tf_keras2", ("not_compiled",)),
    "resized_images": Expected("tf_loop", ("input_bound",)),
    "python_generator": Expected("tf_loop", INPUT_ON_HOST),
    "eager_training": Expected("tf_loop", ("not_compiled",)),
    "retraced_schedule": Expected("tf_loop", ("recompilation",)),
    "sequential_behind_prefetch": Expected("tf_loop", ("input_bound",)),
    "while_in_graph": Expected("tf_loop"),
    "read_loss": Expected("tf_loop"),
    "prefetched": Expected("tf_loop"),
    "prefetched_xla": Expected("tf_loop"),
    "decoding_dataset": Expected("torch_host", ("input_bound",)),
    "one_worker": Expected("torch_host", ("input_bound",)),
    "tokenizing_loop": Expected("torch_host", ("slow_host_code",)),
    "metrics_in_python": Expected("torch_host", ("slow_host_code",)),
    "frequent_checkpoints": Expected("torch_host", ("periodic_work",)),
    "changing_shapes": Expected("torch_host", ("recompilation",)),
    "healthy_training": Expected("torch_host"),
}
"""Program -> its module and the finding that is to come first."""

NO_TIME = ("steps_not_marked", "kept_for_backward")
"""Expected findings that cost no time of a step: they may come in any place, but no finding may be large."""

BUDGET = {
    "ragged_batches": "idle_compile",
    "annealed_static": "idle_compile",
    "tokenizer_in_loop": "idle_host",
    "starved_queue": "idle_input",
    "async_training": None,
    "waiting_training": None,
    "healthy": None,
    "collectives": "exposed_communication",
    "gathered_parameters": "exposed_communication",
    "late_device": "idle_peer",
    "host_sync": "idle_transfer",
    "slow_loader": "idle_host",
    "new_shapes": "idle_compile",
}
"""Program -> the largest part of its steps apart from computation; None if no part may be large."""
