"""What was spent, kept so that no crash, no second process and no forgetting can make it less than what was released.

``book`` is the ledger itself, ``chain`` the hashes that show a change, ``store`` the two databases and their
transactions. Nothing here sees a row. Proof: ``privacy/proofs/ledger.md``.
"""
