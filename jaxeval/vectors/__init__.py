"""Word vectors judged by themselves, on similarity and analogy, and a baseline made of counts."""
