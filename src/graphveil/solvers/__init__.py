"""Pure numerics: a symmetric matrix in, a `Solution` out. Nothing here has heard of privacy."""
