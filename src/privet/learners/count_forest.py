"""Random forests of noisy counts (Jagannathan et al. 2012, Bojarski et al. 2014), and our reading of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import exp, sqrt
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from privet.errors import QuestionError, SchemaError
from privet.learners.base import PrivateClassifier
from privet.learners.boosting_bins import Totals, class_shares
from privet.learners.boosting_plan import Purse
from privet.learners.count_structure import BIN_SHARE, LABEL_SHARE, ask_ground, speaking_depth
from privet.learners.forest_plan import forest_leaves, vote_bound
from privet.learners.majority_forest import check_size, forest_depth
from privet.learners.plan import FitPlan, PlannedQuestion
from privet.learners.random_trees import grow, plain_ground
from privet.model import CountForest, PrivacyCard
from privet.model.voting import VOTINGS
from privet.privacy import (
    BIN_ROWS,
    LABEL_ROWS,
    Account,
    Budget,
    Charge,
    NoisyCounts,
    Protected,
    check_noise,
    leaf_rows,
    random_parts,
)
from privet.privacy.gradients import noise_sd
from privet.schema import Schema
from privet.structure import CompleteTrees

STRUCTURES = ("adaptive", "fletcher-islam", "bojarski")
ROWS = ("all", "disjoint")
MANY_TREES = 60


class CountForestClassifier(PrivateClassifier):
    """Random trees whose leaves release a noisy count of every label.

    Parameters
    ----------
    epsilon : float
        Privacy budget of the fit, or of each batch.
    delta : float
        0 for pure ε; otherwise all trees share one discrete Gaussian, whose noise grows with the root
        of their number only.
    n_trees : int, optional
        By default 30·√ε, between 10 and 60; 60 with a δ.
    max_depth : int, optional
        Depth of every tree; by default what the structure says.
    structure : {"adaptive", "fletcher-islam", "bojarski"}
        "adaptive" first asks for rows by bin and label of every feature, and draws thresholds at private
        quantiles, features that matter more often, and cuts between categories of different labels;
        trees are as deep as the rows of a leaf cover its noise, and leaves that cannot speak over it
        leave that to their ancestors (with posterior voting). The others are drawn from the schema
        alone: "fletcher-islam" has the depth of their theorem 2; "bojarski" draws thresholds from a feature's
        whole range and needs ``max_depth``.
    voting : {"posterior", "sum", "majority", "threshold", "probabilistic"}
        How leaves are combined: see `privet.model.voting.leaf_values`. "probabilistic" draws its
        predictions.
    rows : {"all", "disjoint"}
        Whether every tree counts all rows, the budget shared, or each its own random part, with all
        of it.
    schema : Schema, path, dict or "from-data"
    random_state : int, RandomState or None
        Fixes the public structure, and the draws of probabilistic voting. Never the noise.
    account : Account, optional
    verbose : bool

    Attributes
    ----------
    classes_, feature_names_in_ : ndarray
    model_ : CountForest
    privacy_card_ : PrivacyCard

    Privacy
    -------
    ε-DP, or (ε, δ)-DP by zCDP, under adding or removing one row. Questions in sequence: rows by label,
    rows by bin and label (an adaptive structure's first batch), and rows by leaf and label of all trees.
    Proof notes: *Discrete Laplace*, *Discrete Gaussian*, *Sums of gradients*, *Parallel composition*.
    """

    _batch: str | None = None
    _earlier: CountForest | None = None

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0,
        *,
        n_trees: int | None = None,
        max_depth: int | None = None,
        structure: str = "adaptive",
        voting: str = "posterior",
        rows: str = "all",
        schema: Any = None,
        random_state: Any = None,
        account: Account | None = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.structure = structure
        self.voting = voting
        self.rows = rows
        self.schema = schema
        self.random_state = random_state
        self.account = account
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows, and forget what was learnt before."""
        return self._fit_batch(X, y, None, None)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, *, batch: str | None = None) -> Self:
        """Add a batch of people: its own noisy counts are added to those released before.

        Parameters
        ----------
        X, y :
            As for ``fit``.
        classes :
            Not used, taken for scikit-learn's sake: the labels are the schema's.
        batch : str, optional
            Name under which these people are declared to be in no other batch: they are then
            charged in parallel to other batches. Without it they are charged in sequence. Protected
            rows carry the batch of their account.

        Returns
        -------
        self
        """
        if isinstance(X, Protected):
            batch = X.batch_name
        return self._fit_batch(X, y, batch, getattr(self, "model_", None))

    def _fit_batch(self, X: Any, y: Any, batch: str | None, earlier: CountForest | None) -> Self:
        self._batch, self._earlier = batch, earlier
        try:
            return super().fit(X, y)
        finally:
            self._batch = self._earlier = None

    def _starts_anew(self) -> bool:
        return self._earlier is None

    def _payer(self) -> Account:
        account = super()._payer()
        return account.batch(self._batch) if self._batch else account

    def predict(self, X: Any) -> np.ndarray:
        """Label of each row; drawn by its weight where voting is "probabilistic"."""
        if self.voting != "probabilistic":
            return super().predict(X)
        cumulative = self.predict_proba(X).cumsum(axis=1)
        drawn = check_random_state(self.random_state).random_sample((len(cumulative), 1))
        return np.asarray(self.classes_[(cumulative < drawn).sum(axis=1).clip(max=len(self.classes_) - 1)])

    def _learn(self, protected: Protected) -> CountForest:
        self._check_parameters(protected.schema)
        purse = Purse.of(Budget(self.epsilon, self.delta))
        plan = self._plan(protected.schema, purse)
        for charge, sensitivity in plan:
            check_noise(sensitivity, charge.cost)
        protected.reserve([charge for charge, _ in plan])
        by_label = protected.noisy_label_rows(**purse.price(LABEL_SHARE))
        totals = Totals(by_label.values.astype(np.float64), sqrt(noise_variance(by_label)))
        trees, totals = self._trees(protected, purse, totals)
        asked = protected.split(self._n_trees) if self.rows == "disjoint" else protected
        counts = asked.noisy_histogram(trees, **purse.price(self._leaf_share))
        prior = class_shares(totals, max(float(totals.rows.sum()), 1.0))
        learner = {
            "name": "count-forest",
            "trees": self._n_trees,
            "depth": trees.depth,
            "structure": self.structure,
            "rows": self.rows,
        }
        card = self._card(protected, learner)
        card = replace(card, batches=[_history(self._batch, card)])
        released = CountForest(
            trees,
            counts.values,
            noise_variance(counts),
            prior,
            self.voting,
            protected.schema,
            card,
        )
        return released if self._earlier is None else added(self._earlier, released)

    def _outline(self, schema: Schema, n_rows: float) -> FitPlan:
        self._check_parameters(schema)
        budget, parts = Budget(self.epsilon, self.delta), self._shared[1]
        plan = self._plan(schema, Purse.of(budget))
        sds = [noise_sd(sensitivity, Fraction(1), charge.cost) for charge, sensitivity in plan]
        depth = self._depth(schema, n_rows, sds[-1])
        within_node = self.structure != "bojarski"
        pure = plan[-1][0].cost.epsilon
        return FitPlan(
            "count-forest",
            budget,
            n_rows,
            [PlannedQuestion(charge, sd) for (charge, _), sd in zip(plan, sds, strict=True)],
            {
                "passes over the rows": len(plan),
                "trees": self._n_trees,
                "depth": depth,
                "leaves of each tree": 1 << depth,
                "rows that a tree sees": n_rows / parts,
                "noise of a leaf's count": sds[-1],
            },
            forest_leaves(schema, depth, n_rows / parts, sqrt(2) * sds[-1], self.random_state, within_node),
            [
                vote_bound(
                    self.voting,
                    len(schema.label.values),
                    n_rows,
                    depth,
                    self._n_trees,
                    None if pure is None or parts > 1 else float(pure),
                )
            ],
        )

    @property
    def _asks_bins(self) -> bool:
        """Whether splits are informed by rows by bin; the structure of later batches is given."""
        return self.structure == "adaptive" and self._earlier is None

    @property
    def _leaf_share(self) -> Fraction:
        return 1 - LABEL_SHARE - (BIN_SHARE if self._asks_bins else 0)

    @property
    def _shared(self) -> tuple[int, int]:
        """How many trees a row is counted in, and into how many parts the rows are split."""
        return (1, self._n_trees) if self.rows == "disjoint" else (self._n_trees, 1)

    def _plan(self, schema: Schema, purse: Purse) -> list[tuple[Charge, int]]:
        """Every question, and the sensitivity of its counts."""
        composition = random_parts(self._n_trees) if self.rows == "disjoint" else "sequence"
        labels = (Charge(LABEL_ROWS, purse.cost(LABEL_SHARE)), 1)
        bins = (Charge(BIN_ROWS, purse.cost(BIN_SHARE)), len(schema.features))
        cost = purse.cost(self._leaf_share)
        leaves = (Charge(leaf_rows(self._n_trees), cost, composition), self._shared[0])
        return [labels, bins, leaves] if self._asks_bins else [labels, leaves]

    def _trees(self, protected: Protected, purse: Purse, totals: Totals) -> tuple[CompleteTrees, Totals]:
        """The structure of the earlier batches, or a new one from public and noisy quantities."""
        if self._earlier is not None:
            return self._earlier.trees, totals
        random = check_random_state(self.random_state)
        if self._asks_bins:
            ground, totals = ask_ground(protected, purse, totals, self._n_trees, random)
        else:
            ground = plain_ground(protected.schema, self._n_trees, random)
        noise = purse.sd(self._shared[0], Fraction(1), self._leaf_share)
        depth = self._depth(protected.schema, float(totals.rows.sum()), noise)
        return grow(ground, depth, random, within_node=self.structure != "bojarski"), totals

    def _depth(self, schema: Schema, n_rows: float, noise: float) -> int:
        """Depth that a structure has, by a noisy or public number of rows and the noise of a leaf's count."""
        if self.max_depth is not None:
            return int(self.max_depth)
        if self.structure == "fletcher-islam":
            return forest_depth(schema, self._n_trees)
        return speaking_depth(n_rows / self._shared[1], noise)

    @property
    def _n_trees(self) -> int:
        """Number of trees, asked for or by default."""
        return default_trees(self.epsilon, self.delta) if self.n_trees is None else self.n_trees

    def _check_parameters(self, schema: Schema) -> None:
        for name, allowed in (("structure", STRUCTURES), ("voting", VOTINGS), ("rows", ROWS)):
            if getattr(self, name) not in allowed:
                raise QuestionError(f"{name} must be one of {', '.join(allowed)}.")
        if self.structure == "bojarski" and self.max_depth is None:
            raise QuestionError('structure="bojarski" has no depth of its own.', "give max_depth.")
        check_size(self._n_trees, self.max_depth or 1)
        if self._earlier is None:
            return
        if schema.fingerprint != self._earlier.schema.fingerprint:
            raise SchemaError("this batch has another schema than those before.", "encode it alike.")
        if self._n_trees != self._earlier.trees.n_trees:
            raise QuestionError("n_trees cannot change between batches.", "set it back, or fit anew.")


def default_trees(epsilon: float, delta: float = 0) -> int:
    """Fewer trees where little can be asked of each; all from public quantities."""
    return MANY_TREES if delta else int(np.clip(round(30 * sqrt(epsilon)), 10, MANY_TREES))


def prices(budget: Budget) -> tuple[dict[str, Fraction], dict[str, Fraction]]:
    """What rows by label and rows by leaf cost of a budget, as the wall takes it."""
    name, whole = ("rho", budget.rho) if budget.delta else ("epsilon", budget.epsilon)
    return {name: whole * LABEL_SHARE}, {name: whole * (1 - LABEL_SHARE)}


def label_prior(noisy_rows: np.ndarray, variance: float) -> np.ndarray:
    """Shares of the labels from noisy rows by label."""
    totals = Totals(noisy_rows.astype(np.float64), sqrt(variance))
    return class_shares(totals, max(float(noisy_rows.sum()), 1.0))


def added(earlier: CountForest, later: CountForest) -> CountForest:
    """Two releases of one structure, as one: counts add up, and so does their noise."""
    rows = [max(float(model.counts.sum()), 1.0) for model in (earlier, later)]
    prior = rows[0] * earlier.prior + rows[1] * later.prior
    batches = [*earlier.card.batches, *later.card.batches]
    epsilon, delta = (exposure(batches, name) for name in ("epsilon", "delta"))
    card = replace(
        later.card,
        epsilon=epsilon,
        delta=delta,
        batches=batches,
        private=earlier.card.private and later.card.private,
        caveats=sorted({*earlier.card.caveats, *later.card.caveats}),
    )
    return replace(
        later,
        counts=earlier.counts + later.counts,
        variance=earlier.variance + later.variance,
        prior=prior / prior.sum(),
        card=card,
    )


def exposure(batches: Sequence[Mapping[str, Any]], name: str) -> str:
    """What the most exposed person has cost: undeclared batches add up, declared ones are disjoint."""
    everyone, declared = Fraction(0), {"": Fraction(0)}
    for batch in batches:
        cost = Fraction(batch[name])
        if batch["batch"] is None:
            everyone += cost
        else:
            declared[batch["batch"]] = declared.get(batch["batch"], Fraction(0)) + cost
    return written(everyone + max(declared.values()))


def written(value: Fraction) -> str:
    """An exact number as a card states it: a decimal where that is short."""
    text = f"{float(value):.12g}"
    return text if Fraction(text) == value else str(value)


def _history(batch: str | None, card: PrivacyCard) -> dict[str, Any]:
    return {"batch": batch, "epsilon": card.epsilon, "delta": card.delta, "receipt": card.receipt}


def noise_variance(counts: NoisyCounts) -> float:
    """Variance of the noise of one count."""
    if counts.law == "gaussian":
        return float(counts.parameter)
    shrink = exp(-1 / counts.parameter)
    return 2 * shrink / (1 - shrink) ** 2
