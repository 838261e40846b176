"""What the tests of the command line share."""

RELEASE_OPTIONS = ("--epsilon", 1, "--delta", 1e-6, "-o", "out.release")
