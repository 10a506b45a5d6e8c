"""What each engine does inside a Spark task: one file, one engine, of the same name."""
