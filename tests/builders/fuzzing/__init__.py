"""Random but plausible profiles, and seeds for the fuzz targets."""
