"""The figures of a run, one module each: computed per host and merged."""
