"""Items, runs and samples in one model: means and differences, suites of tasks, plans."""
