"""What an audit says of a promise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

HOLDS = "holds exactly"
NOT_REFUTED = "not refuted"
BROKEN = "broken"


@dataclass(frozen=True)
class Verdict:
    """One finding about one promise.

    Attributes
    ----------
    defendant : str
    method : str
        How it was looked at: exact, transcripts, statistical, one run, accounting.
    outcome : str
        `HOLDS`, `NOT_REFUTED` or `BROKEN`.
    epsilon, delta : float
        What was promised.
    loss : float
        Largest log ratio that was proved or, by sampling, the lower bound on ε; infinite where an
        outcome is possible on one table and not on its neighbour.
    looked_at : str
        How much was looked at.
    confidence : float, optional
        Of a statistical finding.
    witness : dict
        The pair of tables, the outcome, and what else anyone needs to see it again.
    seconds : float
    """

    defendant: str
    method: str
    outcome: str
    epsilon: float
    loss: float
    looked_at: str
    delta: float = 0.0
    confidence: float | None = None
    witness: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def broken(self) -> bool:
        """Whether the promise does not hold."""
        return self.outcome == BROKEN

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data; an infinite loss is the text "infinite"."""
        data = asdict(self)
        return {**data, "loss": self.loss if math.isfinite(self.loss) else "infinite"}

    @property
    def text(self) -> str:
        """The finding in a few words."""
        loss = "infinite" if math.isinf(self.loss) else f"{self.loss:.3g}"
        sure = f" ({100 * self.confidence:.6g} %)" if self.confidence else ""
        if self.outcome == HOLDS:
            return f"holds exactly, loss {loss}"
        if self.outcome == NOT_REFUTED and self.method == "transcripts":
            return f"not proved, bound {loss}"
        return (
            f"not refuted, ε ≥ {loss}{sure}" if self.outcome == NOT_REFUTED else f"BROKEN, loss {loss}{sure}"
        )
