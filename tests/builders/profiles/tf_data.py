"""Profiles of tf.data programs in the text notation."""

from __future__ import annotations

PREFETCH = """
host vm
plane 1 "/host:CPU"
  line 1 "main"
    0us +100us "Iterator::Prefetch" {id=123, name=&"PrefetchDataset:4"}
    80us +20us PrefetchConsume {element_id=100}
    200us +20us "Iterator::Prefetch" {id=123, name=&"PrefetchDataset:4"}
    210us +10us PrefetchConsume {element_id=200}
  line 2 "reader" display=77 "tf_data_prefetch"
    0us +80us PrefetchProduce {element_id=100}
    0us +80us "Iterator::Prefetch::Range" {id=456, parent_id=123}
    100us +80us PrefetchProduce {element_id=200}
    100us +80us "Iterator::Prefetch::Range" {id=456, parent_id=123}
"""
"""Asynchronous: the consumer waits for the first element; the second is ready."""

_MAP = """
    {0}us +90us "Iterator::Batch::Map" {{id=9002, parent_id=9001}}
    {0}us +20us "Iterator::Batch::Map::TFRecord" {{id=9003, parent_id=9002}}
    {1}us +40us MyFunction"""

SYNCHRONOUS = """
host vm
plane 1 "/host:CPU"
  line 1 "main"
    0us +500us "Iterator::Batch" {id=9001}
""" + "".join(_MAP.format(begin, begin + 30) for begin in (10, 130, 250, 370))
"""A batch of four elements, each read and mapped on the same thread."""


def one_run(duration_us: int, *calls: str, name: str = "Root", id_: int = 1, host: str = "vm") -> str:
    """A pipeline called once, for `duration_us`; `calls` are nested `BEGIN +DURATION NAME {STATS}`, outer first."""
    lines = "".join(f"    {call}\n" for call in calls)
    return f"""
host {host}
plane 1 "/host:CPU"
  line 1 "main"
    0us +{duration_us}us "Iterator::{name}" {{id={id_}}}
{lines}"""
