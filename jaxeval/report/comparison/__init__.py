"""The comparison of models: sentences, tables, figures, JSON, LaTeX and Markdown."""
