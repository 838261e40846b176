"""Releases: public, frozen, saved and loaded without executing anything."""
