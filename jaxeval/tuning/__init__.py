"""Which setting of a search space is best, with few evaluations; no jax."""
