"""Answers that a release gives for free, with intervals that count its noise: made of published numbers alone."""
