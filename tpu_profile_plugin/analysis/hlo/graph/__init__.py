"""HLO programs as graphs: links between instructions, what a drawing shows and where."""
