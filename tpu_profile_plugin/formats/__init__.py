"""Files of any profile format as the bytes of one XSpace, which `columns` decodes."""

from tpu_profile_plugin.formats.format import CUT, LEFT_OUT, Format, Skipped, Unpacked
from tpu_profile_plugin.formats.registry import FORMATS, format_of, is_converted, unpack

__all__ = ["CUT", "FORMATS", "LEFT_OUT", "Format", "Skipped", "Unpacked", "format_of", "is_converted", "unpack"]
