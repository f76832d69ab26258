"""Scores of items in logs of lm-evaluation-harness, Inspect, HELM, openai/evals and JSON lines.

Only the files are read: none of the programs is imported, and nothing in a log is executed.
"""
