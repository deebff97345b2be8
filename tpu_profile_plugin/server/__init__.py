"""The HTTP rim: routes parse, call and answer."""
