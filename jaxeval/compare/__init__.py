"""The verb `python -m jaxeval.compare`."""
