"""What the metrics of a sweep are called in tables."""

METRICS = {
    "max": "best score",
    "mean": "mean score",
    "share_zero": "runs that scored 0",
    "best_equivalent": "equivalent to the best",
    "expected_equivalent": "expected equivalent runs",
}
SERIES = {"rel_at_k": "k-th best, k =", "mean_at_k": "mean of the k best, k ="}
PROFILE = {"rho": "rho, distance and loss", "maxima": "maxima", "mean_change": "mean change"}
