"""Scores in, comparison out: numpy and scipy only, any framework's scores.

A study (`study.study`, `items.study.study`) says everything of a cube of scores; its parts take
plain sequences: `hypotheses`, `permutation`, `effects`, `describe`, `multiple`, `ranking`,
`power`.
"""
