"""Items, runs and answers in one model: means and differences, studies of data sets, plans."""
