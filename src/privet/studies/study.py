"""What a study says of itself: the name it is run by, its rows, and how they are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from privet.studies.curves import Row, as_text, draw

Text = Callable[[Sequence[Row]], str]
Draw = Callable[[Sequence[Row], Path], None]


@dataclass(frozen=True)
class Study:
    """A study, as its module declares it under the name ``STUDY``; nothing else lists it.

    Parameters
    ----------
    name : str
        What it is asked for by, and what its files are called.
    run : function
        Its rows, one by one, at small sizes where it is given True.
    text : function, optional
        Rows as a table that grows at its end; curves are told figure by figure. Without it the study
        tells its rows itself.
    draw : function, optional
        Their picture.
    verdict : function, optional
        What all rows together come to.
    real : bool
        Whether it has real tables only.
    """

    name: str
    run: Callable[[bool], Iterator[Row]]
    text: Text | None = as_text
    draw: Draw | None = draw
    verdict: Text | None = None
    real: bool = False

    @property
    def is_curves(self) -> bool:
        """Whether its rows are points of curves."""
        return self.text is as_text


def say(text: str) -> None:
    """Print at once, without a line's end."""
    sys.stdout.write(text)
    sys.stdout.flush()
