"""What holds the architecture.

`contracts` says who may import what, `trust` what must be right for ε to hold.
Both read source and run none of it. Each has its table next to it, and both run with ``make lint``.
"""
