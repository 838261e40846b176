"""A release as one HTML file that anybody can open, made from published numbers alone."""
