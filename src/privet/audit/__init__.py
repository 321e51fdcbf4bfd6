"""Does it keep its ε? Exact proofs on small tables, statistical tests on any."""
