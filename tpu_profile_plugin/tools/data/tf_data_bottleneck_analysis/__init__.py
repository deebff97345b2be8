"""tf.data bottleneck analysis: slow input pipelines, their bottleneck iterators and advice."""

from tpu_profile_plugin.tools.data.tf_data_bottleneck_analysis.tool import TOOL

__all__ = ["TOOL"]
