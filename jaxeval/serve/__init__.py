"""`jaxeval serve`: the report of a runs folder as pages that follow training."""
