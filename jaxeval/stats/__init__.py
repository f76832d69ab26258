"""Statistics of scores from any framework, with numpy and scipy only.

`study.study` and `items.study.study` analyze a cube of scores. Single tests and effects take plain
sequences: `hypotheses`, `describe`, `multiple`, `power`.
"""
