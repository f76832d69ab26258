"""Word vectors judged by themselves: similarity and analogies in the terminal."""
