"""An agent without a model: it asks by fixed rules, follows `next`, and counts what it reads."""
