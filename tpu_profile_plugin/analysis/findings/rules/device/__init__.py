"""Rules about what devices spend their time on."""
