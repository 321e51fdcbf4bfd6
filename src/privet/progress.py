"""A bar on the terminal while rows are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(text: str, shown: bool = True) -> Iterator[Callable[[float], None] | None]:
    """Give a callable that takes the share done; None where nothing is shown."""
    if not shown:
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        raise ImportError("progress bars need rich: pip install 'privet[cli]'") from None
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(text, total=1.0)
        yield lambda share: progress.update(task, completed=share)
