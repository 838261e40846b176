"""Attacks `gv.release` through its public interface, with everything that an attacker could know."""
