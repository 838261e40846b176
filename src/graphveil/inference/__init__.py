"""Free analyses of a release, with intervals that account for its noise: from published numbers alone."""
