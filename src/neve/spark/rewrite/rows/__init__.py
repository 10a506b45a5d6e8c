"""What the engine `rewrite` does with rows: read, evolve, leave out deleted ones, prove."""
