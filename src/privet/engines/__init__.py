"""Where rows lie. An engine can do one thing: sum a kernel over batches of codes."""

from privet.engines.memory import MemoryEngine
from privet.engines.protocol import Batch, Engine

__all__ = ["Batch", "Engine", "MemoryEngine"]
