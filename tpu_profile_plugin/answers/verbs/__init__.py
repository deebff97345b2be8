"""The verbs, a module each: a function that makes an answer of the figures of `Run`."""
