"""A judgement of word vectors: terminal, JSON, tables to paste, figures, page."""
