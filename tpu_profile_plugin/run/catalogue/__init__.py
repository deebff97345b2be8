"""The catalogue of columns: each once, by subject; relations, tools and verbs choose from it.

A module of a subject declares its columns, and below them the tables that show them.
"""

from tpu_profile_plugin.tables.column import integers, texts

RUN = texts("run", "Run", "Name of the run.")
HOST = texts("host", "Host", "Host whose file has the row.")
BEGIN = integers("begin_ps", "Begin", "ps", "Begin on the axis of the trace viewer.")
DURATION = integers("duration_ps", "Duration", "ps", "Time from begin to end.")
STEP = integers("step", "Step", "", "Number of the step, the same on all hosts and devices.")
FRAMEWORK_OP = texts("framework_op", "Framework op", "Framework op from which the op was compiled.")
SOURCE = texts("source", "Source", "File and line.")
SOURCE_FILE = texts("source_file", "Source file", "File of the program that the op comes from.")
SOURCE_LINE = integers("source_line", "Source line", "", "Line in the source file.")
PLACE_OF_LINE = integers("line", "Line", "", "Position of its source line in `lines`.")
PLACE_OF_STACK = integers("stack", "Stack", "", "Position of its call stack in `stacks`.")
