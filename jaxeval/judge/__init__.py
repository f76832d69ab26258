"""`jaxeval vectors judge`: the part of the verb that trains."""
