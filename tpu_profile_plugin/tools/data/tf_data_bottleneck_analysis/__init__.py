"""tf.data bottleneck analysis: slow input pipelines, their bottleneck iterators and advice."""
