"""What people see of data: terminal, figures, JSON, pages; imports no jax.

A room each for runs, comparison, sweep and selection, over what all share: `scores` (units),
`text`, `tables` (terminal), `figures`, `page`, `plain` (JSON). `runs` draws its sweeps with
`sweep`; no other room imports another.
"""
