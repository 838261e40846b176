"""The command line: one file per command. The only part that prints.

``release`` runs where the records are and spends; ``show``, ``fit`` and ``report`` run anywhere and are free. Nothing
heavy is imported before a command needs it: ``graphveil --help`` must be quick.
"""
