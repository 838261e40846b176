"""Attacks the gate through its public interface, with everything that an attacker could know."""
