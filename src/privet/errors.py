"""Every error a user can meet.

::

    PrivetError
    ├── SchemaError (ValueError)          the public contract is wrong
    ├── DataError (ValueError)            a table does not fit its schema
    ├── SourceError (RuntimeError)        rows could not be read to their end, or changed meanwhile
    ├── BudgetError (RuntimeError)
    │   ├── BudgetExceeded                a charge does not fit what is left
    │   ├── UnknownAccount                no budget was set for that data
    │   ├── KeyReused                     a key that was used for another request
    │   ├── LedgerUnavailable             the database cannot be reached, or has no room
    │   └── LedgerTampered                the ledger file was edited or cut
    ├── QuestionError (ValueError)        a question that the wall cannot answer
    └── ModelFileError (ValueError)       a model file is cut, edited or too new

No message carries a value of a row: a message is a release nobody paid for.
"""

from __future__ import annotations

from fractions import Fraction


class PrivetError(Exception):
    """Base of all errors; ``hint`` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\nHint: {hint}" if hint else message)
        self.message = message
        self.hint = hint


class SchemaError(PrivetError, ValueError):
    """The schema contradicts itself or cannot be read."""


class DataError(PrivetError, ValueError):
    """A table does not fit its schema; ``column`` names where."""

    def __init__(self, message: str, hint: str = "", column: str | None = None) -> None:
        super().__init__(message, hint)
        self.column = column


class SourceError(PrivetError, RuntimeError):
    """Rows could not be read from where they lie, or are not what they were; what was charged stays spent."""


class BudgetError(PrivetError, RuntimeError):
    """Base of what a ledger refuses."""


class BudgetExceeded(BudgetError):
    """A charge does not fit; nothing was charged. ``fits`` says what would."""

    def __init__(
        self, account: str, unit: str, asked: Fraction, left: Fraction, limit: Fraction, fits: str = ""
    ) -> None:
        fits = fits or f"{display(left)} or less"
        super().__init__(
            f"this needs {unit}={display(asked)} but {display(left)} of {display(limit)} "
            f"remains on {account!r}.",
            f"lower epsilon to {fits}, or ask the owner of {account!r} for more."
            if left > 0
            else f"the budget of {account!r} is spent; only its owner can grant more.",
        )
        self.account, self.unit, self.asked, self.left, self.limit = (
            account,
            unit,
            asked,
            left,
            limit,
        )


class UnknownAccount(BudgetError):
    """No budget has been set for this data."""


class KeyReused(BudgetError):
    """A charge has the key of another charge; nothing was charged."""


class LedgerUnavailable(BudgetError):
    """The ledger's database cannot be used now: nobody refused what was asked, and it may be asked again."""


class LedgerTampered(BudgetError):
    """The hash chain of a ledger does not hold."""


class QuestionError(PrivetError, ValueError):
    """The wall cannot answer this question."""


class ModelFileError(PrivetError, ValueError):
    """A model file cannot be trusted or understood."""


class PrivacyLeakWarning(UserWarning):
    """Something outside the privacy guarantee was asked for."""


def display(value: Fraction) -> str:
    """Write an exact number shortly: as a decimal where six digits suffice."""
    text = f"{float(value):.6g}"
    return text if Fraction(text) == value else f"about {text}"
