"""Tables for the terminal, figures, and one self-contained HTML page; imports no jax."""
