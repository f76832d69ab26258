"""Search spaces: distributions with inverses, conditions; numpy only."""
