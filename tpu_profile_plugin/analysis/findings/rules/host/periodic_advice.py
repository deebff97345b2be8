"""What to do about work of some steps only: by what it is for, the framework, and what the program already does."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.common.op_names import PYTORCH
from tpu_profile_plugin.analysis.findings.evidence.host.periodic import Kind
from tpu_profile_plugin.analysis.findings.evidence.host.purpose import Purpose
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence


def again(frameworks: Sequence[str]) -> Evidence:
    """That Python functions are missing; the page offers to record again with them, if a server can."""
    if list(frameworks[:1]) == [PYTORCH]:
        return Evidence("Python functions", "not recorded")
    return Evidence("Python functions", "not recorded", "", "capture", {"python_tracer_level": "1"})


CHECKPOINT = Advice(
    "Save less often, or asynchronously: copy the state to the host, and write it from another thread or process while "
    "the next steps run. Only the copy has to wait for the device.",
    jax="Save less often, or asynchronously: orbax.checkpoint.CheckpointManager and AsyncCheckpointer copy the state "
    "and write it while the next steps run. pickle and np.save keep the step waiting until everything is written.",
    tensorflow="Save less often, or asynchronously: tf.train.CheckpointOptions(experimental_enable_async_checkpoint="
    "True) writes while the next steps run. Only the copy of the variables has to wait.",
    keras="Let ModelCheckpoint save less often (save_freq in batches, or 'epoch'), and only weights "
    "(save_weights_only=True). The training waits until everything is written.",
    pytorch="Save less often, or asynchronously: torch.distributed.checkpoint.async_save copies the state and writes "
    "it while the next steps run. torch.save keeps the step waiting until everything is written.",
)
WAITED = Advice(
    "The checkpoint is written by other threads, but the step waits for them. Let the next steps run meanwhile: wait "
    "for the last checkpoint only before the next one, and at the end of the program."
)
LOGGING = Advice(
    "Log less often, and less: a few scalars, not whole arrays. Fetch all values of a step together, and write them "
    "from another thread or after the next step is launched.",
    jax="Log every N-th step, scalars rather than whole arrays. Fetch all values with one jax.device_get after the "
    "next step is launched, and compute statistics of arrays (mean, norm, histogram) in the jitted step.",
    tensorflow="Write summaries every N-th step, scalars rather than histograms of all weights. What has to be "
    "fetched is fetched together, after the next step is launched.",
    keras="Let the TensorBoard callback write less: histogram_freq=0, update_freq='epoch', write_images=False. "
    "Callbacks of your own should log every N-th batch.",
)
COLLECTION = Advice(
    "Call gc.freeze() after the set-up, so that long-lived objects are not searched again and again. Call gc.disable() "
    "and gc.collect() at chosen steps, such as after a checkpoint; fewer objects that refer to each other help as well."
)
CALLED_COLLECTION = Advice(
    "The program calls gc.collect() itself: call it less often, where the devices have work meanwhile, and call "
    "gc.freeze() after the set-up, so that it has less to search. Memory of devices is freed without it, when the last "
    "reference goes."
)
EVALUATION = Advice(
    "Evaluation is work of its own: evaluate less often, on fewer batches, or in another process that reads "
    "checkpoints. Its steps should be compiled, use larger batches than training, and launch without waiting for each "
    "result.",
    keras="Evaluate less often (validation_freq in fit()), or on fewer and larger batches (validation_steps, "
    "validation_batch_size). Evaluation is work of its own, during which the training waits.",
)
SLEEP = Advice(
    "The program sleeps: wait for what it waits for instead (an event, a queue, a file) in another thread. Meanwhile "
    "devices have nothing to do."
)
QUEUE = Advice(
    "The step waits for another thread or process. Let that begin earlier, or ask for its result later: after the next "
    "step is launched, or before the next time it is needed."
)
BATCHING = Advice(
    "The server waits until its batch is full or a timeout ends. Shorten the timeout or allow smaller batches if "
    "requests are few."
)
ALLOCATION = Advice(
    "Memory of the device is allocated or freed in the steps, and the host waits for it. Keep it from step to step.",
    pytorch="Do not call torch.cuda.empty_cache() in the loop: what it frees is allocated again, and both wait for the "
    "device. If memory is fragmented, set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; if it is full, use a "
    "smaller batch.",
)
OTHER = Advice(
    "Run this work less often, make it cheaper, or move it to another thread or process that works while the devices "
    "compute. If it needs results of the step, fetch them after the next step is launched."
)
PROGRAM = Advice(
    "This program runs only in these steps: run it less often, or on less data. Work that has nothing to do with the "
    "next step can be launched together with it, so that the device is never idle between the two."
)
BY_PURPOSE = {
    Purpose.CHECKPOINT: CHECKPOINT,
    Purpose.LOGGING: LOGGING,
    Purpose.COLLECTION: COLLECTION,
    Purpose.EVALUATION: EVALUATION,
    Purpose.SLEEP: SLEEP,
    Purpose.QUEUE: QUEUE,
    Purpose.BATCHING: BATCHING,
    Purpose.ALLOCATION: ALLOCATION,
}


def advice(kind: Kind) -> Advice:
    """For a kind of work."""
    if kind.waits:
        return WAITED
    if kind.purpose == Purpose.COLLECTION and kind.called:
        return CALLED_COLLECTION
    return BY_PURPOSE.get(kind.purpose, PROGRAM if kind.program else OTHER)
