"""`jaxeval settle`: is a candidate better than a base, asked as often as one likes."""
