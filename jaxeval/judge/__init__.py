"""The verb `jaxeval vectors judge`."""
