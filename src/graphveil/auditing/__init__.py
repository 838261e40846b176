"""Tries to break the gate through its public door, with everything that an attacker could know."""
