"""Why a profile cannot tell something, and how to record one that does: one table for findings, pages and commands.

Remedies that several reasons or questions share come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tpu_profile_plugin.analysis.common.op_names import JAX, PYTORCH, TENSORFLOW
from tpu_profile_plugin.errors import NoData

PYTORCH_XLA = "PyTorch/XLA"


@dataclass(frozen=True, slots=True)
class Advice:
    """Instructions in two sentences: for a framework, else in general; `keras` for programs that Keras runs.

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


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a profile cannot tell something.

    Attributes:
      code: stable identifier, lower_snake_case; the sentence may be more precise in places.
      sentence: what is missing.
      remedy: how to record it, as an instruction to users of a framework; "" where the sentence says it.
    """

    code: str
    sentence: str
    remedy: Advice

    def said(self, sentence: str) -> Reason:
        """This reason with another sentence."""
        return replace(self, sentence=sentence)

    def in_full(self, frameworks: Sequence[str]) -> str:
        """The sentence with the remedy, as one sentence."""
        remedy = self.remedy.of(frameworks)
        return f"{self.sentence.removesuffix('.')}: {remedy}" if remedy else self.sentence

    def told(self, frameworks: Sequence[str]) -> str:
        """The sentence, then the remedy."""
        return f"{self.sentence} {self.remedy.of(frameworks)}".rstrip()

    def error(self, frameworks: Sequence[str] | None = None) -> NoData:
        """The error of a question that the profile cannot answer; with the remedy if frameworks are given."""
        error = NoData(self.sentence if frameworks is None else self.in_full(frameworks))
        error.reason = self.code
        return error


def _in(pytorch: str, general: str) -> Advice:
    """The advice for PyTorch, and that for all that record an XSpace: JAX, TensorFlow, PyTorch/XLA."""
    return Advice(general, pytorch=pytorch, pytorch_xla=general)


_CAPTURE = "`tpu-profile capture HOST:PORT LOGDIR`."
_TORCH = "torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"
_COMPUTES = "Record while the program computes on its devices, for some steps, each marked with"
_HLO = "with their HLO, which is the default."
_SHAPES = "Record with record_shapes=True of torch.profiler.profile."
_ALL_RANKS = "every rank of the job at the same time, into one directory."
_FEWER = "Record fewer steps, so that the buffers for device events hold all of them."
NOTHING = Advice("")
"""No remedy beyond the sentence."""
PROFILE = Advice(
    f"{_COMPUTES} jax.profiler.StepTraceAnnotation or tf.profiler.experimental.Trace: {_CAPTURE} "
    f"In PyTorch, record with {_TORCH} and prof.step().",
    f"{_COMPUTES} jax.profiler.StepTraceAnnotation: {_CAPTURE}",
    f"{_COMPUTES} tf.profiler.experimental.Trace: {_CAPTURE}",
    f"Record with {_TORCH} while the program computes, for some steps, with prof.step() after each.",
    f"{_COMPUTES} torch_xla.debug.profiler.StepTrace: {_CAPTURE}",
)
STEPS = Advice(
    "Enclose each step in `with jax.profiler.StepTraceAnnotation(name, step_num=number):` or "
    "tf.profiler.experimental.Trace, in PyTorch call prof.step() after it, and record at least ten.",
    "Enclose each step in `with jax.profiler.StepTraceAnnotation(name, step_num=number):`, and record ten or more.",
    "Enclose each step in `with tf.profiler.experimental.Trace(name, step_num=number, _r=1):`, and record ten or more.",
    "Call prof.step() of torch.profiler.profile after each step, and record at least ten.",
    "Enclose each step in `with torch_xla.debug.profiler.StepTrace(name, step_num=number):`, and record ten or more.",
)
SEVERAL_DEVICES = _in(
    f"Record a job on several GPUs: {_ALL_RANKS}",
    "Record a program that computes on several devices, with all of its hosts.",
)
PROGRAMS = Advice(
    f"Record while the programs run, {_HLO}",
    f"Record while programs of jax.jit run, {_HLO}",
    f"Record functions with jit_compile=True while they run, {_HLO}",
    "PyTorch without XLA runs no programs with HLO: a recording of PyTorch/XLA, JAX or TensorFlow tells this.",
    f"Record while the programs run, {_HLO}",
)
HLO = _in(PROGRAMS.pytorch, "Record with HLO protos in the profile, the default of JAX and of TensorFlow with XLA.")
OPS = _in(
    f"Record with {_TORCH} while the program computes.",
    "Record while the program runs on a device or on XLA's CPU backend, after it has compiled.",
)
SOURCES = _in(
    "Record programs that XLA compiles: kernels of PyTorch have no source lines. with_stack=True of "
    "torch.profiler.profile tells the lines of Python that launch them.",
    "Record programs that XLA compiles, with HLO protos in the profile (the default of JAX and TensorFlow), "
    "from a source file rather than a console.",
)
MEMORY = _in(
    "Record with profile_memory=True of torch.profiler.profile, which has allocations.",
    "Record on a TPU or GPU with the level of host tracing at 2 or more, which has allocations, "
    "and with HLO protos, the default, which have the buffers of programs.",
)
COMMUNICATION = _in(
    f"Record several devices while they communicate: {_ALL_RANKS}",
    "Record several devices while they communicate; for waits between hosts, record all hosts in one session.",
)
GAPS = _in(
    f"Record with {_TORCH} while programs run on a device; for host calls with Python functions, set with_stack=True.",
    "Record while programs run on a device; for host calls with Python functions, set python_tracer_level to 1.",
)
COMPARABLE = _in(
    "Record a few steps of both runs with prof.step() after each, with the same program on the same kind of devices.",
    "Record a few marked steps of both runs, with the same program on the same kind of devices.",
)
SESSION = _in(
    f"Record with {_TORCH} while the program runs, for a few steps.",
    "Record with a profiler session that is open while the program runs, for a few steps.",
)
RUN = Advice("Capture one with `tpu-profile capture HOST:PORT LOGDIR`, jax.profiler.trace or torch.profiler.profile.")

NO_DEVICES = Reason(
    "no_devices",
    "The profile has neither a TPU nor a GPU, nor programs of XLA's CPU backend or ops of TensorFlow or PyTorch.",
    PROFILE,
)
NO_DEVICE = Reason("no_devices", "No devices recorded.", PROFILE)
NO_COLLECTING_DEVICES = Reason(
    "no_collecting_devices",
    "The profile has neither a TPU nor a GPU nor a program of XLA's CPU backend, nor collectives of PyTorch.",
    SEVERAL_DEVICES,
)
EVENTS_MISSING = Reason(
    "device_events_missing",
    "Launches have no event of the device.",
    Advice(
        _FEWER,
        pytorch_xla=_FEWER,
        pytorch="Record fewer steps (schedule(active=...) of torch.profiler), so that the buffers for device events "
        "hold all of them, or raise KINETO_CUDA_MAX_BUFFER_SIZE.",
    ),
)
GRAPH_EVENTS_MISSING = Reason(
    "device_events_missing",
    "Graph launches have no kernel events.",
    Advice(
        "Record with kernels of graphs: tracing of CUDA graphs by node, or some steps without graphs.",
        jax="Record with gpu_enable_cupti_activity_graph_trace off in ProfileOptions.advanced_configuration, which "
        "traces graphs by node, or some steps with --xla_gpu_enable_command_buffer=.",
        pytorch="Start the profiler before the graphs are captured, with a CUDA driver of 12.3 or later, or record "
        "some steps without graphs (vLLM: --enforce-eager, SGLang: --disable-cuda-graph).",
    ),
)
EVENTS_DROPPED = Reason("events_dropped", "The profiler reports lost events.", EVENTS_MISSING.remedy)
DEVICE_PLANES_MISSING = Reason(
    "device_planes_missing",
    "Programs ran on a device, and no plane of it was recorded.",
    Advice(
        "Record on the host that the device is attached to, with the device tracer on (device_tracer_level 1), and "
        "only one profiler at a time.",
        jax="Record with jax.profiler.trace in the process that owns the devices, with device_tracer_level at 1 in "
        "ProfileOptions, and only one profiler at a time.",
        pytorch=f"Record with {_TORCH}, and only one profiler at a time.",
        pytorch_xla="Record with torch_xla.debug.profiler in the process that owns the devices, and no other profiler.",
    ),
)
NO_HOST_EVENTS = Reason(
    "no_host_events",
    "No events of the host were recorded.",
    _in(
        "ProfilerActivity.CPU of torch.profiler.profile records them.",
        "`tpu-profile capture --host-tracer 2` records them.",
    ),
)
NO_LAUNCHES = Reason(
    "no_launches",
    "Nothing tells which calls of the host launched the work of the devices.",
    _in(
        f"Record with {_TORCH}.",
        "Record host and devices in one session, with the level of host tracing at 2 (the default).",
    ),
)
NO_FRAMES = Reason(
    "no_python_functions",
    "Python functions were not recorded.",
    Advice(
        "`tpu-profile capture --python-tracer 1` records them.",
        tensorflow="tpu_profile_plugin.profile() in the program records them, in every version of TensorFlow.",
        pytorch="with_stack=True of torch.profiler.profile records them.",
        pytorch_xla="`tpu-profile capture --python-tracer 1` records them.",
    ),
)
UNTRACED_IDLE_TIME = Reason(
    "no_python_functions",
    "No Python functions were recorded, so that idle time cannot be traced to host code.",
    Advice(
        "`tpu-profile capture --python-tracer 1` records them, or `with_stack=True` of PyTorch.",
        pytorch="`with_stack=True` of torch.profiler.profile records them.",
        pytorch_xla=NO_FRAMES.remedy.pytorch_xla,
    ),
)
UNMARKED = Reason(
    "no_steps",
    "The profile has no steps; all of the recording counts as one.",
    Advice(
        "Mark steps with StepTraceAnnotation, in PyTorch with prof.step().",
        pytorch="Mark steps with prof.step() of torch.profiler.profile.",
        pytorch_xla="Mark steps with torch_xla.debug.profiler.StepTrace.",
    ),
)
NO_PYTHON = Reason(
    "no_python_functions",
    "No call of Python was recorded.",
    _in(
        "record with with_stack=True of torch.profiler.profile, for a short time.",
        "capture with the Python tracer on, for a short time.",
    ),
)
NO_STEPS = Reason("no_steps", "No step was marked, and no event repeats from which steps could be inferred.", STEPS)
FEW_STEPS = Reason("few_steps", "Too few steps recorded.", STEPS)
DISPATCHED_STEPS = Reason(
    "dispatched_steps",
    "The markers of steps enclose only the dispatch.",
    Advice(
        "Wait for the result inside the marker of each step: `jax.block_until_ready(result)`.",
        tensorflow="Wait for the result inside the marker of each step: `result.numpy()`.",
        pytorch="Wait for the result before each prof.step(): `torch.cuda.synchronize()`.",
        pytorch_xla="Wait for the result inside the marker of each step: `torch_xla.sync(wait=True)`.",
    ),
)
ONE_HOST = Reason(
    "one_host",
    "Several hosts were not recorded.",
    _in(
        f"Record a job on several hosts: {_ALL_RANKS}",
        "Record all hosts of a program that several compute, in one session.",
    ),
)
ONE_DEVICE = Reason("one_device", "Several devices were not recorded.", SEVERAL_DEVICES)
FEW_DEVICES = Reason(
    "few_devices", "Too few devices recorded.", Advice("Record a program that computes on at least three devices.")
)
NO_PEAKS = Reason(
    "no_peaks",
    "The peak rates of the devices are unknown.",
    Advice("Record on a TPU or GPU whose peak rates are known; those of CPUs are not."),
)
NO_COSTS = Reason("no_costs", "The work of ops was not recorded.", replace(PROGRAMS, pytorch=_SHAPES))
NO_TYPES = Reason("no_types", "No data types of ops recorded.", replace(PROGRAMS, pytorch=_SHAPES))
NOT_TPU = Reason("not_tpu", "No TPU recorded.", Advice("Only a recording of a TPU tells this."))
NO_PROGRAMS = Reason("no_programs", "The profile contains no HLO module.", PROGRAMS)
NO_MODULES = Reason(
    "no_programs",
    "The profile contains no HLO module (an event of the plane /host:metadata with the stat 'Hlo Proto'); "
    "profilers of XLA devices write them unless their HLO option is off.",
    NOTHING,
)
NO_MODULES_IN_PYTORCH = Reason(
    "no_programs",
    "PyTorch without XLA runs ops one by one: there are no HLO programs. Its ops are in Framework Op Stats.",
    NOTHING,
)
NO_DEVICE_OPS_IN_PYTORCH = Reason(
    "no_device_ops",
    "PyTorch ran on the CPU: its ops are in Framework Op Stats.",
    Advice("Record with ProfilerActivity.CUDA of torch.profiler.profile, on a machine with a GPU."),
)
UNKNOWN_PROGRAM = Reason(
    "unknown_program",
    "A program that ran has no HLO in this recording.",
    Advice(
        "Record the HLO of programs with the profile (enable_hlo_proto, on by default in JAX and TensorFlow), "
        "on a host that runs the program."
    ),
)
NO_SOURCE = Reason("no_source", "No op has a source line: the profile has no HLO program with them.", SOURCES)
NO_OPS = Reason(
    "no_ops", "The profile has no op: neither devices, nor XLA's CPU backend, nor TensorFlow recorded any.", OPS
)
NO_XLA_OPS = Reason(
    "no_xla_ops",
    "The profile has no XLA ops: neither a TPU or GPU nor XLA's CPU backend recorded ops with names.",
    OPS,
)
NO_FRAMEWORK_OPS = Reason(
    "no_framework_ops",
    "The profile has no ops of TensorFlow, JAX or PyTorch, neither on devices nor on the host.",
    OPS,
)
NO_GPU = Reason("no_gpu", "The profile has no GPU: kernels are recorded on GPUs only.", NOTHING)
NO_KERNELS = Reason("no_kernels", "No kernel of a GPU was recorded.", PROFILE)
NO_EVENTS = Reason("no_events", "The profile has no event.", PROFILE)
NO_ALLOCATIONS = Reason("no_allocations", "The profile has no allocations.", MEMORY)
ONLY_ALLOCATIONS = Reason(
    "only_allocations",
    "The run is a memory snapshot: it has allocations, but neither ops nor steps.",
    _in(f"For time, record with {_TORCH}.", PROFILE.general),
)
NO_MEMORY = Reason(
    "no_memory",
    "The profile has neither allocations, nor programs with buffers, nor devices of known memory.",
    MEMORY,
)
NO_BUFFERS = Reason("no_memory", "The profile has neither allocations nor programs with buffers.", MEMORY)
NO_LIMIT = Reason(
    "no_memory_limit",
    "No device allocators and no programs with known memory recorded.",
    _in(MEMORY.pytorch, "Record allocations (`--host-tracer 2`) and the programs' HLO, which is the default."),
)
NO_CAPACITY = Reason(
    "no_capacity",
    "The capacity is not recorded: programs on CPUs share the memory of the host.",
    Advice("Record on a TPU or GPU; on a CPU, compare the peak with the memory that is free on the host."),
)
NO_ALLOCATIONS_IN_PYTORCH = Reason(
    "no_allocations",
    "Memory was not recorded: profile_memory=True of torch.profiler.profile records allocations.",
    NOTHING,
)
NO_INPUT = Reason(
    "no_input_events",
    "No input events recorded.",
    _in(
        "Only an input pipeline of tf.data has what this check looks at; `input_bound` looks at DataLoaders.",
        "Record an input pipeline of tf.data, with host events (`--host-tracer 2`).",
    ),
)
NO_TF_DATA = Reason("no_tf_data", "The profile contains no tf.data activity.", NOTHING)
NO_REQUESTS = Reason(
    "no_requests", "No request of a model server was recorded. Profile a server while it handles requests.", NOTHING
)
NO_MEGASCALE = Reason(
    "no_megascale",
    "The run has no collectives between slices: no host recorded an event named `MegaScale:`.",
    NOTHING,
)
NO_TPU_COUNTERS = Reason("not_tpu", "The profile has no TPU: performance counters exist on TPUs only.", NOTHING)
NO_COUNTERS = Reason("no_counters", "No performance counters were recorded: the capture did not request them.", NOTHING)
FAILED = Reason(
    "rule_failed",
    "The rule failed.",
    Advice("No recording helps: the rule has a defect. Report it with the text of its error."),
)

TORCH_SHAPES = Reason(
    "no_shapes",
    "Shapes of ops were not recorded.",
    Advice("record_shapes=True: shapes of ops, and with them FLOPs and the roofline"),
)
TORCH_STACKS = Reason(
    "no_python_functions",
    "Python functions were not recorded.",
    Advice("with_stack=True: the lines of Python behind ops, kernels and waits of the host, and the modules of ops"),
)
TORCH_MEMORY = Reason(
    "no_allocations",
    "Memory was not recorded.",
    Advice("profile_memory=True: memory over time, and what is live at its peak"),
)
TORCH_STEPS = Reason(
    "no_steps",
    "Steps were not marked.",
    Advice("prof.step() after each step: steps, their parts and their variation"),
)
TORCH_GRAPHS = Reason(
    "no_capture_of_graphs",
    "The ops behind the kernels of graphs were not recorded.",
    Advice(
        "a trace of the capture of the graphs, in the directory capture_traces beside this one "
        "(vLLM: --profiler-config.capture_torch_profiler, SGLang: --enable-profile-cuda-graph), "
        "or some steps without graphs: the ops behind the kernels of a graph, which a replay does not tell"
    ),
)
"""Options of PyTorch's profiler that were off; each remedy is the option and what it gives."""
