"""Experiments of the papers, rerun on public data. What is *as published* here carries no guarantee."""
