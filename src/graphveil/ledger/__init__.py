"""What was spent, kept so that no crash, no second process and no forgetting can make it less than what was released.

``ledger`` is the ledger itself and ``account`` what one release needs of it, ``transactions`` its statements,
``history`` what was charged, as data, ``hash_chain`` what shows a change, ``schema`` the tables, ``upgrade`` how older
ones become those of today, ``database`` the two databases and their transactions, ``file`` the one name of a file and
the witness beside it, ``database_errors`` what errors mean. Nothing here sees a row. Proof:
``privacy/proofs/ledger.md``.
"""
