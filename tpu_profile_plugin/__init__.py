"""The Profile tab of TensorBoard: browse, capture and understand XSpace profiles."""

__version__ = "0.1.0"
