"""What code of the host is called in sentences, and what to do about it: by what it is for, and the framework."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.budget.purpose import Purpose
from tpu_profile_plugin.analysis.common.op_names import PYTORCH
from tpu_profile_plugin.analysis.findings.evidence.host.periodic import Kind
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


@dataclass(frozen=True, slots=True)
class Told:
    """What code with a purpose is called after "wait for" and after "goes to", and what to do about it."""

    wait: str
    work: str
    advice: Advice


def _told(name: str, advice: Advice, work: str = "") -> Told:
    return Told(name, work or name, advice)


KINDS = {
    Purpose.CHECKPOINT: _told("a checkpoint", CHECKPOINT, "checkpoints"),
    Purpose.LOGGING: _told("logging", LOGGING),
    Purpose.COLLECTION: _told("garbage collection", COLLECTION, "Python's garbage collection"),
    Purpose.EVALUATION: _told("evaluation", EVALUATION),
    Purpose.SLEEP: _told("a sleep", SLEEP, "sleeping"),
    Purpose.QUEUE: _told("another thread or process", QUEUE, "waits for another thread"),
    Purpose.BATCHING: _told("requests of a batch", BATCHING, "waits for requests"),
    Purpose.ALLOCATION: _told("allocations of device memory", ALLOCATION),
    Purpose.ITERATOR: _told(
        "a new input pipeline or iterator",
        Advice(
            "Make the input pipeline and its iterator once, before the loop, and take elements from it in each step: "
            "each new one starts its threads or processes again and fills its buffers anew.",
            tensorflow="Call iter(dataset) once, before the loop, and next() in each step. Each new iterator optimises "
            "the pipeline, starts its threads and fills its buffers again; .repeat() makes one last for all epochs.",
            keras="Call fit() once, with all the data, or train_on_batch() per batch; call model(x, training=False) in "
            "place of predict(), and evaluate() every N-th step. Each fit(), predict() or evaluate() makes a tf.data "
            "pipeline and its iterator, and runs callbacks.",
            pytorch="Iterate over one DataLoader: iter(loader) or `for ... in loader` in each step starts its workers "
            "again. persistent_workers=True keeps them from epoch to epoch.",
        ),
        "new input pipelines or iterators",
    ),
    Purpose.DEBUG: _told(
        "a debug mode",
        Advice(
            "Switch the debug mode off in runs that have to be fast: it adds checks or stack traces to every op.",
            jax="Switch off jax_debug_nans, jax_debug_infs and checkify in runs that have to be fast: they wait for "
            "every result and check it.",
            tensorflow="Remove tf.debugging.enable_check_numerics() and enable_dump_debug_info() in runs that have to "
            "be fast: they check or write the result of every op.",
            pytorch="Remove torch.autograd.set_detect_anomaly(True) or detect_anomaly() in runs that have to be fast: "
            "it takes a Python stack trace at each op of the forward pass and checks each gradient for NaN.",
        ),
    ),
    Purpose.COPY: _told(
        "copies of objects",
        Advice(
            "Do not copy in each step what only changes in place or not at all: keep a reference, or write into a copy "
            "that is made once.",
            jax="Arrays of JAX never change: keep a reference to the old parameters in place of a copy.deepcopy().",
            pytorch="Do not call copy.deepcopy() on a model or its state in each step: make the copy once and update "
            "it in place, without autograd (torch._foreach_lerp_ for an average, or "
            "torch.optim.swa_utils.AveragedModel).",
        ),
    ),
    Purpose.LOCK: _told(
        "a lock",
        Advice(
            "Another thread holds the lock. Let it do slow things (files, the network, sleeping, computing) before it "
            "takes the lock, and hold it only to exchange the result; or read a copy that needs no lock."
        ),
        "waits for a lock",
    ),
    Purpose.JSON: _told(
        "reading or writing JSON",
        Advice(
            "Parse each record once, before training, and keep it in a binary form (arrays, Parquet, TFRecord); else "
            "parse on worker processes, ahead of the step."
        ),
    ),
    Purpose.TEXT: _told(
        "text processing",
        Advice(
            "Tokenise and clean texts once, before training, and store the numbers; else do it on worker processes, "
            "ahead of the step. Compile regular expressions once, and let a tokeniser take whole batches.",
            tensorflow="Tokenise and clean texts once and store the numbers, or use TensorFlow's ops for strings in a "
            "parallel map of tf.data, with prefetch.",
            pytorch="Tokenise and clean texts once and store the numbers, or do it in the Dataset, so that the "
            "DataLoader's workers (num_workers) do it ahead of the step.",
        ),
    ),
    Purpose.HASH: _told(
        "hashing",
        Advice(
            "Hash every N-th step or not at all, on another thread (hashlib lets other threads run meanwhile), or "
            "compute a checksum on the device and fetch that number in place of the arrays."
        ),
    ),
    Purpose.TABLE: _told(
        "tables of pandas",
        Advice(
            "Convert the table to arrays once, before the loop (to_numpy), and index those: each access of rows or "
            "columns of pandas makes new objects."
        ),
    ),
    Purpose.CONVERSION: _told(
        "conversions between Python objects and arrays",
        Advice(
            "Make arrays once, before the loop, and of one type: building one from lists or from Python numbers goes "
            "through every element. Stack whole arrays in place of lists of them, and keep the results on the device."
        ),
    ),
    Purpose.RANDOM: _told(
        "random numbers drawn on the host",
        Advice(
            "Draw whole arrays at once (numpy.random.Generator), or on the device.",
            jax="Draw whole arrays at once: in the jitted function with jax.random, or with numpy.random.Generator.",
            tensorflow="Draw whole arrays at once, in the tf.function or the pipeline with tf.random, or with "
            "numpy.random.Generator.",
            pytorch="Draw whole tensors at once, on the device (torch.rand with device=), or with "
            "numpy.random.Generator.",
        ),
    ),
    Purpose.FILE: _told(
        "reading, writing or compressing files",
        Advice(
            "Read and decode ahead of the step, on worker processes, and write and compress after the next step is "
            "launched, on another thread. Few large files that need no compression are faster than many small ones.",
            tensorflow="Read and decode in tf.data, with a parallel interleave and map, then prefetch; cache() keeps "
            "what fits in memory.",
            pytorch="Read and decode in the Dataset, so that the DataLoader's workers (num_workers, prefetch_factor) "
            "do it ahead of the step, and keep what is used again in memory.",
        ),
        "files",
    ),
    Purpose.NETWORK: _told(
        "the network",
        Advice(
            "Ask before the answer is needed, on another thread: the devices can compute meanwhile. Send several "
            "requests at once over a connection that stays open, and keep answers that are used again."
        ),
        "waits for the network",
    ),
    Purpose.COLLECTIVE: _told(
        "other ranks (a collective)",
        Advice(
            "Exchange less and less often: reduce on each rank first and send the few numbers that are needed "
            "(all_reduce of a sum or a count in place of all_gather of whole tensors or objects), every N-th step, and "
            "do not repeat what has not changed. Begin it early (async_op=True) and wait for it when the result is "
            "needed. If the ranks come at different times, look at what delays the last one."
        ),
        "collectives and waits for other ranks",
    ),
    Purpose.IMAGE: _told(
        "decoding or transforming images and sound",
        Advice(
            "Decode, resize and augment ahead of the step, on worker processes, or store the results once; on the "
            "device, one op transforms the whole batch.",
            tensorflow="Decode and augment in a parallel map of tf.data with prefetch, and cache() what does not "
            "change.",
            pytorch="Decode and augment in the Dataset, so that the DataLoader's workers (num_workers) do it ahead of "
            "the step, or on whole batches on the device (torchvision.transforms.v2).",
        ),
    ),
    Purpose.ARRAY: _told(
        "NumPy on the host",
        Advice(
            "NumPy computes on one core while the devices wait. Do it once before the loop if it does not change, on "
            "another thread or process ahead of the step, or as ops on the device; look for work on all elements of "
            "which few change or are needed (sorting, cumulative sums, masks, copies).",
        ),
        "NumPy",
    ),
    Purpose.FORMAT: _told(
        "texts made of arrays and objects",
        Advice(
            "Make such texts only when they are shown: pass the object to the logger and let it format "
            "(logger.debug('%s', x)), or ask isEnabledFor() first; an f-string is always made, and printing an array "
            "fetches it."
        ),
        "formatting texts for prints and logs",
    ),
    Purpose.SERIALISE: _told(
        "serialising objects",
        Advice(
            "Packing objects into bytes copies them. Share arrays in memory (shared_memory, torch's share_memory_) or "
            "send whole arrays in place of objects of many parts; parse records ahead of the step, on worker processes."
        ),
    ),
    Purpose.DATABASE: _told(
        "a database",
        Advice(
            "Ask for many rows in one query, ahead of the step, on another thread or process; keep what is used again, "
            "and commit many writes at once."
        ),
        "queries of a database",
    ),
    Purpose.IMPORT: _told("imports of modules", Advice("Import modules once, before the loop, not within functions.")),
    Purpose.PLOT: _told(
        "drawing plots",
        Advice("Draw every N-th step, or later from logged numbers, on another process."),
    ),
    Purpose.SIMULATION: _told(
        "an environment or simulator",
        Advice(
            "Step several environments together (vectorised, or on worker processes) and let the next actions be "
            "computed meanwhile; a simulator on the device (vmap over environments) needs no host at all."
        ),
    ),
    Purpose.PROCESS: _told(
        "another program",
        Advice(
            "Start the program once and keep it running, or call a library in its place; let it work while the devices "
            "compute, and ask for its result later."
        ),
        "starting other programs",
    ),
}


def advice(kind: Kind) -> Advice:
    """For a kind of work."""
    if kind.waits:
        return WAITED
    if kind.purpose == Purpose.COLLECTION and kind.called:
        return CALLED_COLLECTION
    told = KINDS.get(kind.purpose)
    return told.advice if told is not None else PROGRAM if kind.program else OTHER
