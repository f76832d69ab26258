"""Random sweeps: many settings of hyperparameters, drawn from a declared space."""
