"""Speed, memory and accuracy, beside rivals measured in the same run: ``python -m bench``."""
