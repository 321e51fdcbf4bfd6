"""Exact draws: bits from the operating system, laws without rounding; nothing here knows of rows."""
