"""Advice for slow tf.data iterators: suggestions with the code to write, as text and HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

_GUIDE = "https://www.tensorflow.org/guide/data_performance"
_API = "https://www.tensorflow.org/api_docs/python/tf/data"
AUTO = "num_parallel_calls=tf.data.AUTOTUNE"

Link = tuple[str, str]

_CODE = re.compile(r"`([^`]*)`")


class Guide:
    """Documentation: titles and addresses."""

    ANALYSIS = ("Analyze tf.data performance", "https://www.tensorflow.org/guide/data_performance_analysis")
    EXTRACTION = ("Parallelizing data extraction", _GUIDE + "#parallelizing_data_extraction")
    TRANSFORMATION = ("Parallelizing data transformation", _GUIDE + "#parallelizing_data_transformation")
    CACHING = ("Caching", _GUIDE + "#caching")
    PREFETCHING = ("Prefetching", _GUIDE + "#prefetching")
    VECTORIZING = ("Vectorizing mapping", _GUIDE + "#vectorizing_mapping")
    SERVICE = ("tf.data service", _API + "/experimental/service")
    TFRECORD = ("TFRecordDataset", _API + "/TFRecordDataset")
    INTERLEAVE = ("Dataset.interleave", _API + "/Dataset#interleave")
    SHUFFLE = ("Dataset.shuffle", _API + "/Dataset#shuffle")
    BATCH = ("Dataset.batch", _API + "/Dataset#batch")
    BUCKETS = ("Dataset.bucket_by_sequence_length", _API + "/Dataset#bucket_by_sequence_length")
    REBATCH = ("Dataset.rebatch", _API + "/Dataset#rebatch")


@dataclass(frozen=True)
class Step:
    """One suggestion as text, code in backticks, with links (title, address) to documentation."""

    text: str
    links: tuple[Link, ...] = ()


@dataclass(frozen=True)
class Advice:
    """Suggestions in order; `kind` is a stable identifier of the class of iterators."""

    kind: str
    steps: tuple[Step, ...]

    def html(self) -> str:
        """The suggestions as a numbered list, or a single paragraph."""
        lines = [f"{_html(step.text)}{_html_links(step.links)}" for step in self.steps]
        if len(lines) == 1:
            return f"<div>{lines[0]}</div>"
        return "<ol>" + "".join(f"<li>{line}</li>" for line in lines) + "</ol>"

    def text(self) -> str:
        """One step per line, code in backticks."""
        return "\n".join(step.text for step in self.steps)

    def links(self) -> str:
        """One link per line, each once: title, tab, address."""
        links = dict.fromkeys(link for step in self.steps for link in step.links)
        return "\n".join(f"{title}\t{address}" for title, address in links)


def _html(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(text, quote=False))


def _html_links(links: tuple[Link, ...]) -> str:
    anchors = [f'<a href="{escape(address)}" target="_blank">{escape(title)}</a>' for title, address in links]
    return f" ({', '.join(anchors)})" if anchors else ""
