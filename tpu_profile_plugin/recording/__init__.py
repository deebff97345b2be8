"""Records the program itself with the profiler of its framework: `profile`, `steps`, and the magic `%%profile`."""

from tpu_profile_plugin.recording.recording import Recording, keras_steps, profile, steps

__all__ = ["Recording", "keras_steps", "profile", "steps"]
