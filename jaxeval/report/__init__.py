"""Documents of results, and their renderers; imports no jax.

All share `document`, `scores` (units), `text`, `plots` and `render`.
"""
