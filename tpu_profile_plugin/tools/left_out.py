"""Former names in `payload`."""

from tpu_profile_plugin.tools.payload import LEFT_OUT_HEADER as HEADER
from tpu_profile_plugin.tools.payload import left_out_header as header
from tpu_profile_plugin.tools.payload import with_left_out

__all__ = ["HEADER", "header", "with_left_out"]
