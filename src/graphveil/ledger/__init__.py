"""A record of what was spent: no crash and no second process can make it less than what was released.

``ledger`` is the ledger itself, ``account`` its interface for one release, ``transactions`` its statements, ``history``
the charges as data, ``hash_chain`` the detection of changes, ``schema`` the tables, ``upgrade`` the upgrade of older
tables, ``database`` the two databases and their transactions, ``file`` the single name of a file and its witness,
``database_errors`` the meaning of errors. Nothing here sees a row. Proof: ``privacy/proofs/ledger.md``.
"""
