"""Random sweeps: their plan, their sensitivity, their figures."""
