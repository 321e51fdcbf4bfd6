"""Where rows lie. An engine sums tallies over batches of codes, gathers what must be seen together, parts."""

from privet.engines.memory import MemoryEngine, nobody
from privet.engines.opened import open_engine
from privet.engines.protocol import Batch, Engine

__all__ = ["Batch", "Engine", "MemoryEngine", "nobody", "open_engine"]
