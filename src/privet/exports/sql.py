"""A model as one SELECT, for DuckDB and PostgreSQL.

The arithmetic is that of our kernels, in the same order and in double precision: a value to the number of its
cell, cells to bins or leaves, these to sums, sums to shares. Only exponentials may be rounded otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from privet.data.values import Lookup
from privet.errors import PrivetError, QuestionError
from privet.kernels.predict import LEAST_SHARE, RARE, SHARPNESS
from privet.model.labels import LabelModel
from privet.model.numbers import half_width
from privet.model.protocol import Model
from privet.model.rules import branch
from privet.model.tree import children
from privet.model.weights import Weights
from privet.schema import Categorical, Continuous, Date, DateTime, Feature, Schema, Target
from privet.structure import Additive, CompleteTrees, LeafVotes

DIALECTS = {"duckdb": "duckdb", "postgresql": "postgres"}
"""Dialects that are offered, and what sqlglot calls them."""

MOST_NUMBERS = 500_000
"""Numbers in a statement; engines read about a hundred thousand of them a second."""

Step = Sequence[str]
"""Columns of one subquery, which the next one reads."""


def export_sql(
    model: Model,
    table: str,
    dialect: str = "duckdb",
    keep: Sequence[str] = (),
    coverage: float | None = None,
) -> str:
    """A query that predicts the rows of a table where it lies, with the same answers as the model.

    Parameters
    ----------
    model : released model
    table : str
        Name of the table or view, which has the model's columns; ``clinic.patients`` is one in a schema.
    dialect : {"duckdb", "postgresql"}
    keep : sequence of str
        Columns to be passed through, such as a key.
    coverage : float, optional
        Of a model of numbers: intervals, too, that hold this share of all rows' numbers.

    Returns
    -------
    str
        A SELECT of the kept columns, of ``prediction``, and of a share for every label, ``share_…``, where
        labels are predicted; with a coverage of ``lower`` and ``upper``.
    """
    if dialect not in DIALECTS:
        raise QuestionError(f"there is no dialect {dialect!r}.", f"use one of {', '.join(DIALECTS)}.")
    quoted, literal = _spelling(DIALECTS[dialect])
    half = None if coverage is None else half_width(model, coverage)
    schema, kept = model.schema, [f"k{i}" for i in range(len(keep))]
    read = [f"{quoted(column)} AS {alias}" for column, alias in zip(keep, kept, strict=True)]
    read += [f"{_code(f, quoted(f.name), literal)} AS c{j}" for j, f in enumerate(schema.features)]
    source, steps = ".".join(map(quoted, table.split("."))), []
    for i, columns in enumerate([read, *([*kept, *step] for step in _steps(model))]):
        steps.append(f"step{i} AS (\n  SELECT {_listed(columns)}\n  FROM {source}\n)")
        source = f"step{i}"
    last = [f"{alias} AS {quoted(column)}" for column, alias in zip(keep, kept, strict=True)]
    if isinstance(schema.label, Target):
        told = _cut(schema.label, "number")
        last.append(f"{told} AS {quoted('prediction')}")
        if half is not None:
            for name, sign in (("lower", "-"), ("upper", "+")):
                end = _cut(schema.label, f"{told} {sign} {_number(half)}")
                last.append(f"{end} AS {quoted(name)}")
        return f"WITH {', '.join(steps)}\nSELECT {_listed(last)}\nFROM {source}\n"
    last.append(f"{_best(schema, literal, _weights(model).choice)} AS {quoted('prediction')}")
    last += [f"p{k} AS {quoted(f'share_{value}')}" for k, value in enumerate(schema.classes)]
    return f"WITH {', '.join(steps)}\nSELECT {_listed(last)}\nFROM {source}\n"


def _spelling(dialect: str) -> tuple[Callable[[str], str], Callable[[Any], str]]:
    """How a dialect writes names, and values: names and values of a schema may be anything."""
    try:
        from sqlglot import exp
    except ModuleNotFoundError:
        raise PrivetError("SQL is written with sqlglot.", "pip install 'privet[export]'") from None

    def quoted(name: str) -> str:
        return exp.to_identifier(name, quoted=True).sql(dialect)

    return quoted, lambda value: exp.convert(value).sql(dialect)


def _listed(columns: Step) -> str:
    return ",\n    ".join(columns)


def _number(value: float) -> str:
    """A double that is read as one: without an exponent it might be taken for a decimal."""
    text = repr(float(value))
    return f"({text if 'e' in text else text + 'e0'})"


def _numbers(values: np.ndarray) -> str:
    """An array, of which both dialects count the first place as 1."""
    return f"CAST(ARRAY[{','.join(map(_number, values.tolist()))}] AS DOUBLE PRECISION[])"


def _code(feature: Feature, column: str, literal: Callable[[Any], str]) -> str:
    """Code of a value, as `privet.data.codes` has it."""
    if isinstance(feature, Categorical):
        lookup = Lookup(feature.categories)
        texts: dict[int, list[str]] = {}
        for text, code in lookup.spellings.items():
            texts.setdefault(code, []).append(literal(text))
        cases = [f"WHEN {column} IS NULL THEN {lookup.missing}"]
        found = f"CAST({column} AS TEXT)"
        cases += [f"WHEN {found} IN ({', '.join(listed)}) THEN {code}" for code, listed in texts.items()]
        return f"CASE {' '.join(cases)} ELSE {lookup.unknown} END"
    value, lower, upper = (
        _value(feature, column),
        _number(feature.lower),
        _number(feature.upper),
    )
    scaled = f"(LEAST(GREATEST({value}, {lower}), {upper}) - {lower}) * {_number(1 / feature.width)}"
    cell = f"LEAST(CAST(FLOOR({scaled}) AS INTEGER), {feature.n_cells - 1})"
    absent = f"{column} IS NULL OR {value} = CAST('NaN' AS DOUBLE PRECISION)"
    return f"CASE WHEN {absent} THEN {feature.n_cells} ELSE {cell} END"


def _value(feature: Continuous, column: str) -> str:
    """A number, or the number of days or seconds since 1970 that a date or a moment stands for."""
    if isinstance(feature, Date):
        return f"CAST(CAST({column} AS DATE) - DATE '1970-01-01' AS DOUBLE PRECISION)"
    if isinstance(feature, DateTime):
        return f"CAST(EXTRACT(EPOCH FROM CAST({column} AS TIMESTAMP)) AS DOUBLE PRECISION)"
    return f"CAST({column} AS DOUBLE PRECISION)"


def _steps(model: Model) -> Iterator[Step]:
    """Subqueries from codes to shares."""
    predictor, schema = model.predictor, model.schema
    arrays = (predictor.shapes, predictor.leaves, predictor.turns) if isinstance(predictor, Additive) else (
        predictor.values, predictor.trees.view, predictor.trees.threshold
    )  # fmt: skip
    if sum(array.size for array in arrays) > MOST_NUMBERS:
        raise QuestionError(
            f"this model has more than {MOST_NUMBERS:,} numbers, too many for a statement.",
            "export it as ONNX, or fit fewer or shallower trees.",
        )
    if isinstance(predictor, Additive):
        yield from _score_steps(predictor, schema)
        if isinstance(schema.label, Target):
            yield ["s0 AS number"]
            return
        yield from _link_steps(predictor.n_scores, schema.n_labels)
    else:
        yield from _vote_steps(predictor, schema)
    if odds := _weights(model).odds:
        yield [f"p{k} * {_number(weight)} AS w{k}" for k, weight in enumerate(odds)]
        yield from _share_steps(len(odds))


def _weights(model: Model) -> Weights:
    return model.weights if isinstance(model, LabelModel) else Weights()


def _score_steps(additive: Additive, schema: Schema) -> Iterator[Step]:
    """Bins, leaves of trees, scores."""
    bins, views = additive.bins, additive.bins.views
    tables = [
        views.table[start : start + f.n_codes] for start, f in zip(views.start, schema.features, strict=True)
    ]
    names = [f"b{j}" for j in range(len(tables))]
    yield [f"{_looked_up(f'c{j}', table)} AS b{j}" for j, table in enumerate(tables)]
    turns = [
        " + ".join(_looked_up(f"b{j}", additive.turns[bins.slices[j], t]) for j in dict.fromkeys(asked))
        for t, asked in enumerate(additive.features.tolist())
    ]
    yield [*names, *(f"{turn} AS l{t}" for t, turn in enumerate(turns))]
    yield [f"{_score(additive, k)} AS s{k}" for k in range(additive.n_scores)]


def _score(additive: Additive, k: int) -> str:
    """One score, added up in the order of `privet.kernels.score`."""
    shapes = [
        f"{_numbers(additive.shapes[part, k])}[b{j} + 1]" for j, part in enumerate(additive.bins.slices)
    ]
    trees = [f"{_numbers(leaves[:, k])}[l{t} + 1]" for t, leaves in enumerate(additive.leaves)]
    first = [_number(additive.intercept[k]), *(f"({shape})" for shape in shapes)]
    if additive.n_scores > 1:
        return " + ".join([*first, *trees])
    whole = len(trees) - len(trees) % 4
    sums = [[*first, *trees[0:whole:4], *trees[whole:]], *(trees[lane:whole:4] for lane in (1, 2, 3))]
    a, b, c, d = (" + ".join(terms) or _number(0) for terms in sums)
    return f"(({a}) + ({b})) + (({c}) + ({d}))"


def _link_steps(n_scores: int, n_labels: int) -> Iterator[Step]:
    """Shares from scores, as `privet.kernels.predict.probabilities` has them."""
    if n_scores > 1:
        yield from _softmax_steps(n_labels)
    elif n_labels == 1:
        yield [f"{_number(1)} AS p0"]
    else:
        yield ["1 / (1 + EXP(-LEAST(GREATEST(s0, -500), 500))) AS p"]
        yield ["CASE WHEN p >= 0.5 THEN 0.5 / (1.5 - p) ELSE p / (p + 0.5) END AS p1"]
        yield ["1 - p1 AS p0", "p1"]


def _softmax_steps(n_labels: int) -> Iterator[Step]:
    scores = [f"s{k}" for k in range(n_labels)]
    yield [*scores, f"GREATEST({', '.join(scores)}) AS top"]
    yield [f"EXP(GREATEST({score} - top, -700)) AS w{k}" for k, score in enumerate(scores)]
    yield from _share_steps(n_labels)


def _share_steps(n_labels: int) -> Iterator[Step]:
    weights = [f"w{k}" for k in range(n_labels)]
    yield [*weights, f"{' + '.join(weights)} AS total"]
    even = _number(1 / n_labels)
    yield [f"CASE WHEN total > 0 THEN w{k} / total ELSE {even} END AS p{k}" for k in range(n_labels)]


def _vote_steps(votes: LeafVotes, schema: Schema) -> Iterator[Step]:
    """Leaves of trees, sums of what they say, shares; of numbers the mean."""
    trees, values, labels = votes.trees, votes.values, range(votes.values.shape[-1])
    found = [_leaf(votes, schema, t) for t in range(trees.n_trees)]
    yield [f"{case} AS l{t}" for t, (case, _) in enumerate(found)]
    said = [values[t] if values.ndim == 3 else values[leaves] for t, (_, leaves) in enumerate(found)]
    sums = [" + ".join(f"{_numbers(of[:, k])}[l{t} + 1]" for t, of in enumerate(said)) for k in labels]
    yield [f"{total} AS v{k}" for k, total in enumerate(sums)]
    if isinstance(schema.label, Target):
        yield [f"v0 / {trees.n_trees} AS number"]
        return
    if votes.prior is None:
        yield [f"GREATEST(v{k}, 0) AS w{k}" for k in labels]
        yield from _share_steps(len(labels))
        return
    yield [f"GREATEST(v{k} / {trees.n_trees}, {_number(LEAST_SHARE)}) AS m{k}" for k in labels]
    yield [
        f"LN(m{k}) + {_number(SHARPNESS - 1)} * LN((m{k} + {_number(RARE)}) / {_number(usual)}) AS s{k}"
        for k, usual in enumerate(np.maximum(votes.prior, 0) + RARE)
    ]
    yield from _softmax_steps(len(labels))


def _leaf(votes: LeafVotes, schema: Schema, tree: int) -> tuple[str, list[int]]:
    """Number of a row's leaf among those of its tree, and which leaves of all trees these are."""
    trees, leaves = votes.trees, list[int]()

    def grown(node: int) -> str:
        below = children(trees, schema, node)
        if not below:
            leaves.append(
                node - trees.n_leaves if isinstance(trees, CompleteTrees) else int(trees.child[node])
            )
            return str(len(leaves) - 1)
        parts = []
        for number, child in enumerate(below):
            feature, mask = branch(trees, schema, tree, node, number)
            lead = "ELSE" if child == below[-1] else f"WHEN {_within(f'c{feature}', mask)} THEN"
            parts.append(f"{lead} {grown(child)}")
        return f"CASE {' '.join(parts)} END"

    return grown(1 if isinstance(trees, CompleteTrees) else int(trees.roots[tree])), leaves


def _runs(values: np.ndarray) -> list[tuple[int, int]]:
    """Where values stay the same: first place, and the place behind the last."""
    edges = [0, *(np.flatnonzero(np.diff(values.astype(np.int64))) + 1).tolist(), len(values)]
    return list(pairwise(edges))


def _within(code: str, mask: np.ndarray) -> str:
    """Whether a code is one of those that are marked."""
    runs = [(first, behind) for first, behind in _runs(mask) if mask[first]]
    return " OR ".join(f"{code} BETWEEN {first} AND {behind - 1}" for first, behind in runs) or "FALSE"


def _looked_up(code: str, table: np.ndarray) -> str:
    """What a table has for a code, by halves."""
    runs = _runs(table)

    def half(first: int, behind: int) -> str:
        if behind - first == 1:
            return str(int(table[runs[first][0]]))
        middle = (first + behind) // 2
        return (
            f"CASE WHEN {code} < {runs[middle][0]} THEN {half(first, middle)} ELSE {half(middle, behind)} END"
        )

    return half(0, len(runs))


def _cut(target: Target, number: str) -> str:
    return f"LEAST(GREATEST({number}, {_number(target.lower)}), {_number(target.upper)})"


def _best(schema: Schema, literal: Callable[[Any], str], choice: Sequence[float]) -> str:
    """The label with the largest share, weighed perhaps, of equals the one that sorts first."""
    weighed = [f"(p{k} * {_number(choice[k])})" if choice else f"p{k}" for k in range(schema.n_labels)]
    shares = ", ".join(weighed)
    order = np.argsort(np.array(schema.classes)).tolist()
    cases = [f"WHEN {weighed[k]} >= GREATEST({shares}) THEN {literal(schema.classes[k])}" for k in order]
    return f"CASE {' '.join(cases)} END"
