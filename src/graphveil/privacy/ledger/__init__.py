"""What was spent, kept so that no crash, no second process and no forgetting can make it less than what was released.

``book`` is the ledger itself, ``accounts`` its statements, ``history`` what was charged, as data, ``chain`` the hashes
that show a change, ``store`` the two databases and their transactions, ``trouble`` what their errors mean. Nothing here
sees a row. Proof: ``privacy/proofs/ledger.md``.
"""
