"""HLO programs as graphs: links between instructions, selection and placement for drawings."""
