"""The selection of the best model by a bandit: JSON and terminal."""
