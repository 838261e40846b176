"""What was spent, kept so that no crash, no second process and no forgetting can make it less than what was released.

``book`` is the ledger itself, ``accounts`` its statements, ``history`` what was charged, as data, ``chain`` the hashes
that show a change, ``schema`` the tables and ``upgrade`` how older ones become those of today, ``store`` the two
databases and their transactions, ``file`` the one name of a file and the witness beside it, ``trouble`` what errors
mean. Nothing here sees a row. Proof: ``privacy/proofs/ledger.md``.
"""
