"""One module per tool; `registry` is the only list of them."""
