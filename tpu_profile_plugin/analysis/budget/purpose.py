"""What code of the host is for, by public names of Python's and the frameworks' own functions: the one table of them.

Of nested calls the outermost with a known purpose tells what the program does: whatever a library runs inside of a
checkpoint belongs to the checkpoint. Only garbage collection begins inside of any call and belongs to none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.columns.arrays import U8
from tpu_profile_plugin.system.name_cache import cached_by_name


class Purpose(IntEnum):
    """What a call is for."""

    UNKNOWN = 0
    CHECKPOINT = 1
    """Writes or reads the program's state."""
    LOGGING = 2
    """Writes messages, metrics or summaries."""
    COLLECTION = 3
    """Python's garbage collection."""
    EVALUATION = 4
    """Measures the model on other data."""
    INPUT = 5
    """Waits for the next element of an input pipeline or data loader."""
    QUEUE = 6
    """Waits for another thread or process, whatever that does."""
    BATCHING = 7
    """A server collects requests for a batch."""
    SLEEP = 8
    COMPILE = 9
    """Traces, compiles or loads a program."""
    TRANSFER = 10
    """Waits until a device has finished or its results are on the host."""
    UPLOAD = 11
    """Sends data to a device."""
    LAUNCH = 12
    """Launches work of a device."""
    PROFILER = 13
    """Starts or ends the recording."""
    ALLOCATION = 14
    """Allocates or frees memory of a device, rather than to reuse it."""
    ITERATOR = 15
    """Makes an input pipeline or its iterator and starts its workers, or frees them."""
    DEBUG = 16
    """What a debug mode adds to each op: stack traces, checks for NaN, dumps."""
    COPY = 17
    """Copies objects and all that they refer to."""
    LOCK = 18
    """Waits for a lock."""
    JSON = 19
    TEXT = 20
    """Regular expressions, tokenising."""
    HASH = 21
    TABLE = 22
    """Works on tables of pandas."""
    CONVERSION = 23
    """Makes arrays or tensors of Python objects, or Python objects of them."""
    RANDOM = 24
    """Draws random numbers on the host."""
    FILE = 25
    """Reads, writes, decodes or compresses files."""
    NETWORK = 26
    PROCESS = 27
    """Starts another program, or waits for it."""
    COLLECTIVE = 28
    """Exchanges data with other ranks, and waits for them."""
    IMAGE = 29
    """Decodes, resizes or augments images, video or sound."""
    ARRAY = 30
    """Computes with NumPy and libraries of arrays on the host."""
    FORMAT = 31
    """Makes texts of arrays and other objects."""
    SERIALISE = 32
    """Packs objects into bytes, or unpacks them: pickle, protobuf, MessagePack."""
    DATABASE = 33
    IMPORT = 34
    """Imports modules."""
    PLOT = 35
    SIMULATION = 36
    """A step of an environment or simulator."""


_PY = r"^\$(?:\S*/)?"
"""A Python function: `$file.py:line function`; `$module function` if it is written in C. Some profiles have paths."""


def _c(modules: str, names: str) -> str:
    """Functions in C, of modules or of objects, as both profilers of Python write them."""
    return rf"^\$(?:{modules}) (?:{names})\Z|^<built-in (?:function|method) (?:{names})(?: of .*)?>\Z"


_EVALUATE = (
    r"(?!\w*train)(?:\w*_)?(?:eval|evaluat(?:e|ion)|validat(?:e|ion)|accuracy)(?:_(?:step|epoch|loop|model|fn|batch))?"
)
_ARRAYS = (
    "(?:arg)?sort|(?:arg)?partition|searchsorted|nonzero|cumsum|cumprod|dot|matmul|take|repeat|choose|compress|copy|astype"
    "|reshape|transpose|sum|mean|std|var|argm(?:ax|in)|clip|round|fill|put"
)
_PIPELINE = (
    "batch|cache|concatenate|enumerate|filter|flat_map|from_\\w+|interleave|map|options|padded_batch|prefetch|range|repeat"
    "|shard|shuffle|skip|take|unbatch|window|with_options|zip"
)
"""Methods of tf.data.Dataset, which add to a pipeline."""
_PATTERNS = (
    (Purpose.COLLECTION, rf"{_PY}gc collect\Z|^<built-in function collect>\Z|{_PY}__init__\.py:\d+ _xla_gc_callback\Z"),
    (Purpose.PROFILER, rf"{_PY}profiler\w*\.py:\d+ (?:start|stop|trace|__enter__|__exit__)"),
    (
        Purpose.DEBUG,
        rf"{_PY}anomaly_mode\.py:\d+ |{_PY}(?:torch/)?fx/traceback\.py:\d+ format_stack\Z"
        rf"|{_PY}dispatch\.py:\d+ (?:check_special|_check_special)\Z|{_PY}(?:check_numerics|dumping)_callback\.py:\d+ "
        r"|(?:^|[:/])(?:CheckNumericsV2|DebugIdentityV\d|DebugNumericSummaryV2)(?:\Z|:)",
    ),
    (
        Purpose.CHECKPOINT,
        r"^<built-in function (?:replace|rename)>\Z|"  # of files: what is written whole or not at all
        rf"{_PY}(?:_?pickle|marshal) dump\Z|{_PY}(?:_?pickle|cloudpickle|_?dill|numpy_pickle)\.py:\d+ dump\Z"
        rf"|{_PY}_?npyio(?:_impl)?\.py:\d+ _?save\w*\Z|{_PY}format\.py:\d+ write_array\Z|{_PY}numpy save\w*\Z"
        rf"|{_PY}serialization\.py:\d+ (?:_?save|_legacy_save|_?load|_legacy_load|to_bytes|msgpack_serialize)\Z"
        rf"|{_PY}\w*(?:checkpointer|checkpoint_manager|checkpoint_handler)\.py:\d+ "
        rf"|{_PY}checkpoints?\.py:\d+ (?:save|write|_write|save_checkpoint\w*|restore\w*|read)\Z"
        rf"|{_PY}checkpoint_management\.py:\d+ |{_PY}model_checkpoint\.py:\d+ "
        rf"|{_PY}(?:saving_api|saving_lib|legacy_h5_format)\.py:\d+ _?(?:save|load)_\w+\Z"
        rf"|{_PY}save\.py:\d+ save\w*\Z|{_PY}(?:training|trainer|model)\.py:\d+ save(?:_weights)?\Z"
        rf"|{_PY}(?:_)?safetensors\w* serialize\w*\Z"
        r"|^(?:EagerLocalExecute: )?(?:SaveV2|MergeV2Checkpoints|RestoreV2)(?:\Z|:)|:SaveV2\Z"
        r"|[/.$](?:orbax|safetensors)/",
    ),
    (
        Purpose.LOGGING,
        rf"{_PY}__init__\.py:\d+ (?:debug|info|warning|error|_log|handle|callHandlers|emit)\Z|{_PY}builtins print\Z"
        rf"|{_PY}logging\.py:\d+ (?:debug|info|warning|error|log|vlog|_log)\Z"
        rf"|{_PY}(?:summary_ops_v2|summary_v2|event_file_writer|record_writer)\.py:\d+ "
        rf"|{_PY}(?:writer|summary_writer)\.py:\d+ (?:add_|write_|scalar|histogram|image|text|flush)\w*\Z"
        rf"|{_PY}\w+\.py:\d+ (?:add|write)_(?:scalars?|histograms?|images?|summary|texts?|hparams)\Z"
        rf"|{_PY}(?:wandb_run|fluent)\.py:\d+ log\w*\Z|{_PY}_?histograms(?:_impl)?\.py:\d+ histogram"
        r"|^(?:EagerLocalExecute: )?Write\w*Summary(?:\Z|:)|:Write\w*Summary\Z"
        r"|[/.$](?:wandb|mlflow|tensorboardX?|absl/logging|clu/metric_writers|tqdm|rich|loguru|structlog)/",
    ),
    (
        Purpose.EVALUATION,
        rf"^\$\S*[^ :/]\.py:\d+ {_EVALUATE}\Z|{_PY}(?:training|trainer)\.py:\d+ test_\w+\Z"
        rf"|^PjitFunction\({_EVALUATE}\)\Z|^(?:EagerLocalExecute: )?__inference_(?:test_function|{_EVALUATE})_\d+\Z",
    ),
    (
        Purpose.PLOT,
        r"[/.$](?:matplotlib|plotly|seaborn)/",
    ),
    (
        Purpose.ITERATOR,
        rf"{_PY}dataloader\.py:\d+ (?:__iter__|_get_iterator|__init__|_reset)\Z"
        rf"|{_PY}(?:dataset_ops|input_lib)\.py:\d+ (?:__iter__|make_\w*iterator)\Z"
        rf"|{_PY}iterator_ops\.py:\d+ (?:__init__|_create_iterator)\Z"
        rf"|{_PY}\w*data_adapter\.py:\d+ get_tf_dataset\Z|{_PY}dataset_ops\.py:\d+ (?:{_PIPELINE})\Z"
        r"|^MakeIterator::|^(?:EagerLocalExecute: )?(?:MakeIterator|AnonymousIterator(?:V\d)?)(?:\Z|:)"
        r"|^TFE_DeleteTensorHandle\Z",  # long only if an iterator's threads and buffers end with it
    ),
    (
        Purpose.INPUT,
        r"^(?:MultiDevice)?IteratorGetNext|OptionalGetValue|enumerate\(DataLoader\)|DataLoaderIter"
        rf"|{_PY}dataloader\.py:\d+ |{_PY}(?:iterator_ops|dataset_ops|data_loader|dataset_iterator)\.py:\d+ "
        rf"(?:__next__|next|_next_internal)\Z|[/.$]grain/",
    ),
    (
        Purpose.BATCHING,
        r"^(?:BatchFunction|ScheduleBatch|ProcessBatch|ConcatInputTensors|BatchResourceBase)|:BatchFunction\Z",
    ),
    (Purpose.COPY, rf"{_PY}copy\.py:\d+ (?:deepcopy|_deepcopy_\w+|_reconstruct)\Z"),
    (
        Purpose.COLLECTIVE,
        rf"{_PY}(?:torch/distributed/)?distributed_c10d\.py:\d+ |{_PY}multihost_utils\.py:\d+ |[/.$](?:horovod|mpi4py)/"
        r"|^<built-in method wait of pybind11|^\$mpi4py",
    ),
    (
        Purpose.PROCESS,
        rf"{_PY}subprocess\.py:\d+ |{_PY}os\.py:\d+ (?:popen|system)\Z|"
        + _c("posix|_posixsubprocess", "waitpid|wait[34]|waitid|system|fork_exec|posix_spawn"),
    ),
    (
        Purpose.NETWORK,
        rf"{_PY}(?:http/)?client\.py:\d+ (?:request|send|getresponse|connect|begin|_read_status|endheaders)\Z"
        rf"|{_PY}(?:urllib/)?request\.py:\d+ (?:urlopen|urlretrieve)\Z|{_PY}connectionpool\.py:\d+ "
        rf"|{_PY}sessions\.py:\d+ (?:request|send|get|post|put)\Z|{_PY}(?:socket|ssl)\.py:\d+ "
        rf"|{_PY}_channel\.py:\d+ (?:__call__|_blocking|result|_next)\Z|[/.$](?:urllib3|aiohttp|botocore|httpx)/|"
        + _c("_socket|_ssl|<unknown>", "recv|recv_into|sendall|connect|getaddrinfo|gethostbyname"),
    ),
    (
        Purpose.QUEUE,
        rf"{_PY}queues?\.py:\d+ (?:get|put|join)\Z|{_PY}_queue get\Z|{_PY}<unknown> (?:get|poll)\Z"
        rf"|{_PY}_base\.py:\d+ (?:result|result_iterator|wait|as_completed)\Z|{_PY}pool\.py:\d+ (?:next|get|wait)\Z"
        rf"|{_PY}threading\.py:\d+ (?:wait|wait_for|join|_wait_for_tstate_lock)\Z"
        rf"|{_PY}connection\.py:\d+ (?:recv|send|(?:recv|send)_bytes|poll|wait)\Z|{_PY}selectors\.py:\d+ select\Z"
        r"|^<built-in method (?:get of _queue\.SimpleQueue|poll of select\.e?poll|control of select\.kqueue) object>\Z|"
        + _c("select|_socket", "select|_?accept"),
    ),
    (
        Purpose.LOCK,
        rf"{_PY}(?:threading|synchronize)\.py:\d+ (?:acquire|__enter__)\Z|" + _c("_thread|<unknown>", "acquire"),
    ),
    (Purpose.SLEEP, _c("time", "sleep")),
    (Purpose.ALLOCATION, r"^(?:cuda|hip)(?:Malloc|Free)\Z|^(?:cu|hip)Mem(?:Create|Release|Map|Unmap|SetAccess)\Z"),
    (
        Purpose.DATABASE,
        r"[/.$](?:sqlalchemy|psycopg2?|pymongo|redis|lmdb|duckdb)/|^<built-in method \w+ of sqlite3\.\w+ object>\Z"
        r"|^\$(?:_?sqlite3|lmdb|duckdb)",
    ),
    (Purpose.IMPORT, r"^(?:\$|<)?<?frozen importlib|^\$builtins __import__\Z|^<built-in function __import__>\Z"),
    (
        Purpose.SIMULATION,
        rf"[/.$](?:gym|gymnasium|dm_env|dm_control|mujoco|pettingzoo|stable_baselines3/common/vec_env|brax)/"
        rf"|{_PY}(?:\w*_)?env(?:s|ironments?)?(?:_\w+)?\.py:\d+ (?:step|reset)\Z",
    ),
    (
        Purpose.FORMAT,
        rf"{_PY}(?:torch/)?_tensor_str\.py:\d+ |{_PY}arrayprint\.py:\d+ |{_PY}pprint\.py:\d+ "
        rf"|{_PY}(?:string|textwrap|reprlib)\.py:\d+ |^\$\S+\.py:\d+ __(?:repr|str|format)__\Z",
    ),
    (
        Purpose.JSON,
        rf"{_PY}json/|{_PY}__init__\.py:\d+ (?:loads|dumps)\Z|{_PY}(?:decoder|encoder)\.py:\d+ "
        r"(?:decode|raw_decode|encode|iterencode|_iterencode\w*)\Z|^\$(?:_json|json\.\w+|orjson|ujson|simplejson) ",
    ),
    (
        Purpose.TEXT,
        rf"{_PY}re(?:/__init__)?\.py:\d+ |{_PY}__init__\.py:\d+ (?:sub|subn|findall|finditer|fullmatch)\Z"
        rf"|{_PY}tokenization_\w+\.py:\d+ |{_PY}tokeniz(?:er|ers|e)\.py:\d+ "
        r"|[/.$](?:sentencepiece|tokenizers|nltk|spacy)/|^<built-in method \w+ of (?:re\.Pattern|Tokenizer) object>\Z|"
        + _c("<unknown>", "findall|finditer|sub|subn|fullmatch|encode_batch|decode_batch"),
    ),
    (
        Purpose.HASH,
        rf"{_PY}hashlib\.py:\d+ |^\$(?:_hashlib|_sha\w+|_md5|_blake2|xxhash|zlib\.crc32) |"
        r"^<built-in method update of (?:_\w+\.)?(?:HASH|hashlib|sha|md5|blake)\w* object>\Z|"
        + _c("zlib|binascii|<unknown>", "hexdigest|digest|crc32|adler32"),
    ),
    (
        Purpose.TABLE,
        rf"[/.$]pandas/|{_PY}(?:frame|series|groupby|managers|indexing|generic)\.py:\d+ (?:apply|iterrows|itertuples"
        r"|merge|join|groupby|sort_values|to_numpy|_getitem_\w+|_get_item\w*|fillna|astype|sample|concat|agg|aggregate"
        r"|drop|query|map|reindex|_ixs|items|to_dict|reset_index|_take_with_is_copy|take)\Z",
    ),
    (
        Purpose.RANDOM,
        rf"{_PY}random\.py:\d+ |^<built-in method \w+ of numpy\.random\.|^\$numpy\.random\S* |"
        + _c("_random|<unknown>", "random|getrandbits"),
    ),
    (
        Purpose.SERIALISE,
        rf"{_PY}(?:_?pickle|cloudpickle|_?dill|marshal|_?msgpack)(?:\.py:\d+)? |{_PY}reduction\.py:\d+ dumps\Z"
        r"|[/.$]google/protobuf/|^<built-in method (?:SerializeToString|ParseFromString|FromString) of |"
        + _c("_struct|_csv|_ast|<unknown>", "pack|pack_into|unpack|unpack_from|iter_unpack|packb|unpackb"),
    ),
    (
        Purpose.IMAGE,
        rf"{_PY}(?:Image|ImageOps|ImageEnhance|ImageFilter|JpegImagePlugin|PngImagePlugin)\.py:\d+ |^\$cv2 "
        r"|[/.$](?:PIL|torchvision/transforms|skimage|albumentations|imageio|librosa|torchaudio|decord|av)/|"
        + _c("cv2|<unknown>", "imread|imdecode|resize|warpAffine|cvtColor"),
    ),
    (
        Purpose.FILE,
        rf"{_PY}(?:gzip|bz2|lzma|zipfile|tarfile|_compression)\.py:\d+ |{_PY}zipfile/"
        r"|^<built-in function (?:remove|unlink|f(?:data)?sync|truncate|copyfile|sendfile|stat)>\Z"
        rf"|{_PY}_?npyio(?:_impl)?\.py:\d+ load|{_PY}format\.py:\d+ read_\w+\Z"
        rf"|{_PY}(?:readers|parquet)\.py:\d+ read_\w+\Z|[/.$](?:h5py|pyarrow|soundfile|fsspec|zarr)/|"
        + _c(
            "io|_io|posix|zlib|_bz2|_lzma|<unknown>",
            "open|read|read1|readline|readlines|readinto|write|compress|decompress|scandir|listdir",
        ),
    ),
    (
        Purpose.CONVERSION,
        rf"{_PY}constant_op\.py:\d+ |{_PY}tensor_conversion\w*\.py:\d+ |^(?:convert_to_tensor|tf\.constant)\Z"
        r"|^<built-in method (?:tensor|as_tensor|tolist) of |"
        + _c("numpy|torch|numpy\\.\\S+|torch\\.\\S+", "array|asarray|asanyarray|fromiter|tensor|as_tensor|tolist"),
    ),
    (
        Purpose.ARRAY,
        r"[/.$](?:numpy/(?:lib|_?core|fft|linalg|ma)|scipy|sklearn|numba)/|^<built-in method \w+ of numpy\.ufunc "
        rf"|^<built-in method (?:{_ARRAYS}) of numpy\.ndarray object>\Z"
        rf"|^\$(?:numpy|scipy)(?!\.py:)\S* (?:{_ARRAYS}|concatenate|stack|where|einsum|convolve|bincount|unique|pad"
        r"|isin)\Z",
    ),
)
_HASH, _DIGEST = re.compile(r"^\$<unknown> update\Z"), re.compile(r" (?:hex)?digest\Z|^\$_(?:hashlib|sha|md5|blake)")
"""Many objects have an `update`: it is of a hash where digests are taken."""
_COMPILED = tuple((purpose, re.compile(pattern)) for purpose, pattern in _PATTERNS)
_OF_ACTIVITY = {
    Activity.COMPILE: Purpose.COMPILE,
    Activity.TRANSFER: Purpose.TRANSFER,
    Activity.UPLOAD: Purpose.UPLOAD,
    Activity.INPUT: Purpose.INPUT,
    Activity.LAUNCH: Purpose.LAUNCH,
}
RUNTIME = frozenset({Purpose.COMPILE, Purpose.TRANSFER, Purpose.UPLOAD, Purpose.LAUNCH})
"""How a program works rather than what for: a call around it with another purpose says more, and one inside as well."""
AS_CODE = (Purpose.UNKNOWN, Purpose.INPUT, Purpose.PROFILER, *RUNTIME)
"""What code with such a purpose is for tells less than the name of its function, or other rules tell it."""


@cached_by_name
def purpose(name: str) -> Purpose:
    """What an event of that name is for, by itself."""
    known = next((one for one, pattern in _COMPILED if pattern.search(name)), None)
    return known if known is not None else _OF_ACTIVITY.get(activity(name), Purpose.UNKNOWN)


def purposes(names: Sequence[str]) -> U8:
    """uint8[n]: the purpose of each name of a thread."""
    found = np.array([purpose(name) for name in names], np.uint8)
    if any(map(_DIGEST.search, names)):
        found[[_HASH.match(name) is not None for name in names]] = Purpose.HASH
    return found
