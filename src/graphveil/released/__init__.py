"""What came out of the gate: public, frozen, saved and loaded without executing anything."""
