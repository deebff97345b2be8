"""What to do about code on the host that devices wait for, by what the code is for."""

from __future__ import annotations

from collections.abc import Mapping

from tpu_profile_plugin.analysis.findings.evidence.host.purpose import Purpose
from tpu_profile_plugin.analysis.findings.model import Advice

PHRASE: Mapping[Purpose, str] = {
    Purpose.CHECKPOINT: "a checkpoint",
    Purpose.LOGGING: "logging",
    Purpose.COLLECTION: "garbage collection",
    Purpose.EVALUATION: "evaluation",
    Purpose.QUEUE: "another thread or process",
    Purpose.BATCHING: "requests of a batch",
}
"""What devices wait for, in sentences; other purposes are named by their functions."""

ADVICE_OF: Mapping[Purpose, Advice] = {
    Purpose.CHECKPOINT: Advice(
        "Save the state asynchronously, or less often. The state must be copied to the host before the next step "
        "changes it; serialising and writing it can wait.",
        jax="Save with Orbax' asynchronous checkpointing (ocp.AsyncCheckpointer, or a CheckpointManager with "
        "enable_async_checkpointing), or less often. Only the copy to the host then keeps the devices waiting; "
        "pickle.dump and np.save also keep them waiting while the file is written.",
        tensorflow="Save with tf.train.CheckpointOptions(experimental_enable_async_checkpoint=True), or less often. "
        "Only the copy to the host then keeps the devices waiting.",
        keras="Save less often (save_freq of ModelCheckpoint), or weights only. BackupAndRestore and ModelCheckpoint "
        "write the file while no batch is computed.",
        pytorch="Save with torch.distributed.checkpoint.async_save, or less often. Only the copy to the host then "
        "keeps the devices waiting.",
    ),
    Purpose.LOGGING: Advice(
        "Log less often, fewer and smaller values, or on another thread after the next step is launched. Values of a "
        "device are best reduced there, so that only a few numbers are copied to the host.",
        keras="Log less often: update_freq and histogram_freq of the TensorBoard callback decide how often it writes. "
        "Callbacks of your own should write every N-th batch.",
    ),
    Purpose.COLLECTION: Advice(
        "Call gc.freeze() after the program is set up, so that what lives long is not looked at again, or gc.disable() "
        "and gc.collect() at chosen steps. Fewer Python objects per step cost less as well.",
    ),
    Purpose.EVALUATION: Advice(
        "Evaluate less often, or on less data; on a copy of the state in a process and on devices of its own it costs "
        "the training nothing. A step of evaluation should be compiled and fed like one of training.",
        keras="Evaluate less often (validation_freq in fit()), or on less data (validation_steps). The validation "
        "data needs a pipeline with prefetch as well.",
    ),
    Purpose.QUEUE: Advice(
        "Look in the timeline at what the other thread or process does meanwhile: its work must become faster, begin "
        "earlier, or be split among several. If its result is not needed for the next step, ask for it later.",
    ),
    Purpose.BATCHING: Advice(
        "Shorten the time limit after which an incomplete batch is computed, or take what is in the queue and compute "
        "it at once: requests that arrive meanwhile form the next batch. If few requests arrive, idle devices are "
        "no loss.",
    ),
}
