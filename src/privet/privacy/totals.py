"""What is left of every account: running totals, moved by one event at a time.

Totals are sums of whole numbers, so that what was added can be taken away again, and a replay of all
events gives the same ones whatever the order of charges and returns.

Proof note: ``docs/proofs/composition.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

from privet.errors import BudgetError, BudgetExceeded, UnknownAccount, display
from privet.privacy.budget import ZCDP, Budget, Cost, in_parallel, in_sequence
from privet.privacy.chain import GENESIS, Event
from privet.privacy.charges import PLANS, plan_costs

NONE = Fraction(0)
Find = Callable[[int], Event]
"""Finds the event of a number among those before."""


@dataclass
class Sum:
    """A sum of costs. Those without an ε are counted, so that there is one again when none is left."""

    epsilon: int = 0
    without: int = 0
    rho: int = 0
    delta: int = 0

    def add(self, cost: Cost, times: int = 1) -> None:
        """Add a cost, or take it away with ``times=-1``."""
        self.epsilon += times * (cost.epsilon_units or 0)
        self.without += times * (cost.epsilon_units is None)
        self.rho += times * cost.rho_units
        self.delta += times * cost.delta_units

    @property
    def cost(self) -> Cost:
        """The sum as a cost."""
        return Cost(None if self.without else self.epsilon, self.rho, self.delta)


@dataclass
class Spending:
    """What was spent on everyone, and on the people of each batch alone."""

    everyone: Sum = field(default_factory=Sum)
    batches: dict[str, Sum] = field(default_factory=dict)

    def add(self, batch: str | None, cost: Cost, times: int = 1) -> None:
        """Add a cost to those whom it is about, or take it away with ``times=-1``."""
        of = self.everyone if batch is None else self.batches.setdefault(batch, Sum())
        of.add(cost, times)

    def on(self, batch: str | None = None) -> Cost:
        """What the most exposed person has cost, or a person of one batch."""
        batches = self.batches.values() if batch is None else [self.batches.get(batch, Sum())]
        return in_sequence([self.everyone.cost, in_parallel(each.cost for each in batches)])


@dataclass
class Analyst:
    """Somebody who may ask, up to a cap of their own; None while nothing may be asked."""

    cap: Budget | None
    spending: Spending = field(default_factory=Spending)


@dataclass
class State:
    """An account as its events leave it.

    Attributes
    ----------
    budget : Budget
        Of everyone together.
    schema : str or None
        Fingerprint of the only schema to ask under.
    batches : dict
        Declared batches, and the number of the event that declared each.
    spending : Spending
        Of everyone together.
    analysts : dict
    open : dict
        The dearer cost of charges of two plans that are not settled, by number.
    closed : set
        Numbers of charges that were given back.
    """

    budget: Budget
    schema: str | None = None
    batches: dict[str, int] = field(default_factory=dict)
    spending: Spending = field(default_factory=Spending)
    analysts: dict[str, Analyst] = field(default_factory=dict)
    open: dict[int, Cost] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)

    def spent(self, batch: str | None = None) -> Cost:
        """What the most exposed person has cost, or a person of one batch."""
        return self.spending.on(batch)

    def charge(self, event: Event, cost: Cost, times: int = 1) -> None:
        """Count a charge, or take it away, for everyone and for who asked."""
        # Batches that nobody had declared, of ledgers older than that, are charged to everyone.
        declared = self.batches.get(event["batch"], event["number"]) < event["number"]
        batch = event["batch"] if declared else None
        self.spending.add(batch, cost, times)
        if event.get("analyst") is not None:
            self.analysts[event["analyst"]].spending.add(batch, cost, times)


@dataclass
class Totals:
    """All accounts after a number of events, the hash of the last, and the key that signs."""

    number: int = 0
    hash: str = GENESIS
    key: str = ""
    accounts: dict[str, State] = field(default_factory=dict)

    def state(self, account: str) -> State:
        """One account, or a refusal where there is none."""
        if account not in self.accounts:
            raise UnknownAccount(
                f"no budget has been set for {account!r}.",
                "its owner sets one with `privet budget create` or Ledger.create.",
            )
        return self.accounts[account]

    def follow(self, event: Event, find: Find) -> None:
        """Count one more event, whose link to the chain was checked."""
        kind, account = event["kind"], event["account"]
        if kind in ("budget", "grant"):
            known = self.accounts.get(account)
            budget = budget_of(event, known.budget if known else None)
            state = known or self.accounts.setdefault(account, State(budget))
            state.budget, state.schema = budget, event["schema"] or state.schema
        elif account in self.accounts:
            step = _STEPS.get(kind)
            if step is None:
                raise BudgetError(f"this ledger has events of a newer privet ({kind}).", "use that one.")
            step(self.accounts[account], event, find)
        self.number, self.hash = event["number"], event["hash"]
        self.key = event.get("key_of_ledger", self.key)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, to go on from later."""
        accounts = {name: _state_to_dict(state) for name, state in sorted(self.accounts.items())}
        return {"number": self.number, "hash": self.hash, "key": self.key, "accounts": accounts}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read totals back."""
        accounts = {name: _state_from_dict(state) for name, state in data["accounts"].items()}
        return cls(data["number"], data["hash"], data["key"], accounts)


def _batch(state: State, event: Event, find: Find) -> None:
    state.batches.setdefault(event["batch"], event["number"])
    state.spending.batches.setdefault(event["batch"], Sum())


def _cap(state: State, event: Event, find: Find) -> None:
    cap = None if event["epsilon"] is None else budget_of(event, state.budget)
    state.analysts.setdefault(event["analyst"], Analyst(cap)).cap = cap


def _charge(state: State, event: Event, find: Find) -> None:
    state.schema = state.schema or event["schema"]
    costs = plan_costs(event, {}, state.budget.accounting)
    # The dearer of two plans, in ε and in ρ: the maximum, as if of disjoint people.
    dearer = in_parallel(costs)
    if len(costs) > 1:
        state.open[event["number"]] = dearer
    state.charge(event, dearer)


def _settle(state: State, event: Event, find: Find) -> None:
    dearer = state.open.pop(event["number_settled"], None)
    if dearer is not None:
        charged = find(event["number_settled"])
        state.charge(charged, dearer, -1)
        followed = plan_costs(charged, {charged["number"]: event["plan"]}, state.budget.accounting)
        state.charge(charged, followed[0])


def _cancel(state: State, event: Event, find: Find) -> None:
    number = event["number_cancelled"]
    charged = find(number)
    # What was settled was answered: were it given back all the same, it would stay charged.
    if number not in state.closed and (number in state.open or PLANS[1] not in charged):
        dearer = state.open.pop(number, None)
        state.charge(charged, dearer or in_parallel(plan_costs(charged, {}, state.budget.accounting)), -1)
        state.closed.add(number)


def _nothing(state: State, event: Event, find: Find) -> None:
    """A refusal moves nothing."""


_STEPS: Mapping[str, Callable[[State, Event, Find], None]] = {
    "batch": _batch,
    "cap": _cap,
    "charge": _charge,
    "settle": _settle,
    "cancel": _cancel,
    "refused": _nothing,
}


def budget_of(event: Event, known: Budget | None = None) -> Budget:
    """The budget, or the cap, that an event sets; an account adds up as it did at first."""
    epsilon, delta, finding = (Fraction(event.get(name, 0)) for name in ("epsilon", "delta", "finding"))
    return Budget(epsilon, delta, finding, known.accounting if known else event.get("accounting", ZCDP))


def budget_event(kind: str, account: str, budget: Budget, **more: Any) -> dict[str, Any]:
    """The event that sets a budget, or a cap."""
    numbers = {"epsilon": str(budget.epsilon), "delta": str(budget.delta)}
    if budget.finding:
        numbers["finding"] = str(budget.finding)
    if budget.accounting != ZCDP:
        numbers["accounting"] = budget.accounting
    return {"kind": kind, "account": account, **numbers, **more}


def check_declared(state: State, account: str, batch: str | None) -> None:
    """Refuse a batch that the owner has not declared to hold people of no other batch."""
    if batch is not None and batch not in state.batches:
        raise BudgetError(
            f"batch {batch!r} of {account!r} was never declared disjoint.",
            "its owner declares it with Ledger.declare_batch or `privet budget declare`.",
        )


def check_charge(state: State, account: str, cost: Cost, batch: str | None, analyst: str | None) -> None:
    """Refuse a cost that does not fit on top of what the same people have cost already, or a cap."""
    if analyst is not None:
        known = state.analysts.get(analyst)
        if known is None or known.cap is None:
            raise BudgetError(
                f"{analyst!r} may not ask of {account!r}.",
                "its owner gives a cap with Ledger.set_cap or `privet budget cap`.",
            )
        check_fits(known.cap, known.spending.on(batch), f"{account}, cap of {analyst}", cost)
    check_fits(state.budget, state.spent(batch), account, cost)


def check_fits(budget: Budget, spent: Cost, account: str, cost: Cost) -> None:
    """Refuse a cost that does not fit a budget on top of what is spent."""
    if budget.allows(in_sequence([spent, cost])):
        return
    in_rho = budget.delta - budget.finding
    if not in_rho and cost.epsilon is None:
        raise BudgetError(
            f"{account!r} has a budget in pure ε, and this needs a δ.",
            "set delta=0, or ask the owner for a budget with a δ.",
        )
    if not in_rho and spent.epsilon is None:
        raise BudgetError(
            f"{account!r} has been asked questions that need a δ, and its budget has none now.",
            "its owner can grant a budget with a δ.",
        )
    own = budget.finding - spent.delta
    if cost.delta > own:
        raise BudgetError(
            f"{account!r} has delta={display(max(own, NONE))} left to find values with, not "
            f"{display(cost.delta)}.",
            "its owner sets a part of delta aside for that: Budget(epsilon, delta, finding).",
        )
    left = max(budget.rho - spent.rho, Fraction(0))
    if cost.epsilon is not None and spent.epsilon is not None:
        pure = max(budget.epsilon - spent.epsilon, Fraction(0))
        if pure or not left:
            raise BudgetExceeded(account, "epsilon", cost.epsilon, pure, budget.epsilon)
    fits = f"{budget.epsilon_of(left)} or less with delta={display(budget.delta)}"
    raise BudgetExceeded(account, "rho", cost.rho, left, budget.rho, fits)


def _state_to_dict(state: State) -> dict[str, Any]:
    analysts = {
        name: {"cap": _budget_to_list(each.cap), "spending": _spending_to_dict(each.spending)}
        for name, each in sorted(state.analysts.items())
    }
    return {
        "budget": _budget_to_list(state.budget),
        "schema": state.schema,
        "batches": state.batches,
        "spending": _spending_to_dict(state.spending),
        "analysts": analysts,
        "open": {str(n): [c.epsilon_units, c.rho_units, c.delta_units] for n, c in state.open.items()},
        "closed": sorted(state.closed),
    }


def _state_from_dict(data: Mapping[str, Any]) -> State:
    analysts = {
        name: Analyst(_budget_from_list(each["cap"]), _spending_from_dict(each["spending"]))
        for name, each in data["analysts"].items()
    }
    budget = _budget_from_list(data["budget"])
    assert budget is not None
    return State(
        budget,
        data["schema"],
        dict(data["batches"]),
        _spending_from_dict(data["spending"]),
        analysts,
        {int(number): Cost(*units) for number, units in data["open"].items()},
        set(data["closed"]),
    )


def _budget_to_list(budget: Budget | None) -> list[str] | None:
    if budget is None:
        return None
    return [*map(str, (budget.epsilon, budget.delta, budget.finding)), budget.accounting]


def _budget_from_list(data: list[str] | None) -> Budget | None:
    if data is None:
        return None
    epsilon, delta, finding = map(Fraction, data[:3])
    return Budget(epsilon, delta, finding, *data[3:])


def _spending_to_dict(spending: Spending) -> dict[str, Any]:
    batches = {name: list(vars(each).values()) for name, each in spending.batches.items()}
    return {"everyone": list(vars(spending.everyone).values()), "batches": batches}


def _spending_from_dict(data: Mapping[str, Any]) -> Spending:
    return Spending(Sum(*data["everyone"]), {name: Sum(*each) for name, each in data["batches"].items()})
