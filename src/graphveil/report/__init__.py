"""A release as one HTML file that anybody can open: made of published numbers alone."""
