"""The commit gate: what stands between Spark's JVM and a REST catalog."""
