"""What is learned from what: one file a task, where corpus, model, loss and metric meet."""
