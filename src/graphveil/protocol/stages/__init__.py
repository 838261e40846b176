"""The stages with which a release begins, a file each; their order is in :mod:`graphveil.protocol.schedule`."""
