"""jaxeval: train populations of neural networks and compare their score distributions."""

__version__ = "0.1.0"
