"""Models compared item by item: terminal, JSON, JUnit XML and a line of Markdown."""
