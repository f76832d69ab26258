"""Tasks, a file each: where corpus, model, loss and metric meet."""
