"""Effects of an additive model drawn: what each feature, and each pair of features, does to a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.kernels.predict import probabilities
from privet.model.rules import places
from privet.model.sections import FeatureShapes
from privet.model.words import condition_text, written
from privet.pictures.style import (
    BLUE,
    FAINT,
    GRID,
    INK,
    SOFT,
    WASH,
    Spot,
    clean,
    label_colour,
    new_figure,
    plain,
)
from privet.schema import Categorical, Continuous, Moment, Target

SURE = 2.0
"""Standard deviations of noise that a band shows on either side."""

MOST_CATEGORIES = 12
LONGEST = 20
MOST_LABELS = 4
"""Labels whose lines are coloured, those that a feature moves most; the others stay grey."""

SIDE_BY_SIDE = 0.12
"""Share of a small picture's width that the text of a tick takes."""

CHANCES = (0.001, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 0.99, 0.999)
FACTORS = (1 / 50, 1 / 20, 1 / 10, 1 / 5, 1 / 2, 1, 2, 5, 10, 20, 50)


class Shapes:
    """What all pictures of a model's shapes have in common: its effects, one scale, the labels' names.

    Parameters
    ----------
    told : FeatureShapes
    """

    def __init__(self, told: FeatureShapes) -> None:
        self.told, self.effects, self.schema = told, told.effects, told.schema
        effects = told.effects
        self.number = isinstance(told.schema.label, Target)
        self.names = [told.schema.label.name] if self.number else list(map(str, told.schema.classes))
        self.binary = len(effects.base) == 1
        # Bins with hardly a row have wide bands, and would flatten all others.
        held = told.bin_shares > 0.002
        wide = SURE * effects.bands[held, None]
        least = 1e-9 if self.number else 0.1
        low = min(float((effects.single[held] - wide).min(initial=0.0)), -least)
        high = max(float((effects.single[held] + wide).max(initial=0.0)), least)
        margin = 0.05 * (high - low)
        self.low, self.high = low - 3 * margin, high + margin

    def draw(self, axes: Any, feature: int, title: str = "") -> None:
        """The effect of one feature alone."""
        told = self.schema.features[feature]
        clean(axes, title)
        place = self.told.bins.slices[feature]
        values, bands = self.effects.single[place], self.effects.bands[place]
        shares, shown = self.told.bin_shares[place], self._shown(values, self.told.bin_shares[place])
        if isinstance(told, Categorical):
            self._draw_categories(axes, told, values, bands, shares, shown)
        else:
            self._draw_range(axes, told, self._edges(feature, told), values, bands, shares, shown)

    def spots(self, feature: int) -> list[Spot]:
        """What each bin of a feature's picture tells whoever points at it."""
        told, place = self.schema.features[feature], self.told.bins.slices[feature]
        bins, shares = feature_bins(self.told, feature), self.told.bin_shares[place]
        values, bands = self.effects.single[place], SURE * self.effects.bands[place]
        texts = [
            f"{condition_text(told, bins == b) or told.name}: {self._told(values[b], bands[b])}; "
            f"{shares[b]:.1%} of the rows"
            for b in range(len(values))
        ]
        if isinstance(told, Categorical):
            order = self._order(told, values, shares)
            return [
                Spot((self.low, self.high), (line - 0.5, line + 0.5), texts[b])
                for line, b in enumerate(order.tolist())
            ]
        edges = self._edges(feature, told)
        ends = [*zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
        if len(values) > len(ends):
            width = edges[-1] - edges[0]
            ends.append((float(edges[-1]), float(edges[-1] + 0.2 * width)))
        return [Spot(x, (self.low, self.high), text) for x, text in zip(ends, texts, strict=True)]

    def _told(self, value: np.ndarray, band: float) -> str:
        """What an average row with these values is told, and within which range the noise leaves it."""
        if self.number:
            return f"{value[0]:+,.4g} ± {band:,.2g}"
        scores = self.effects.base + np.stack([value - band, value, value + band])
        chances = probabilities(scores, len(self.names))
        if len(self.names) == 2:
            low, middle, high = chances[:, 1]
            return f"{self.names[1]} {middle:.1%}, {low:.1%} to {high:.1%}"
        best = np.argsort(-chances[1])[:3]
        return ", ".join(f"{self.names[k]} {chances[1, k]:.1%}" for k in best)

    def draw_pair(self, axes: Any, pair: tuple[int, int], score: int) -> None:
        """What two features do together beyond what each does alone, for one score."""
        from matplotlib.colors import LinearSegmentedColormap

        value = self.effects.pairs[pair][:, :, score]
        clean(axes)
        axes.grid(visible=False)
        ends = [_rgb(label_colour(label, 2)) for label in (0, 1)]
        # In between nothing is drawn: the page shows through, whatever its theme.
        ramp = LinearSegmentedColormap.from_list(
            "effect", [(*ends[0], 1), (*ends[0], 0), (*ends[1], 0), (*ends[1], 1)]
        )
        most = max(float(np.abs(value).max()), 1e-9)
        axes.pcolormesh(
            _cumulated(self._shares(pair[0])), _cumulated(self._shares(pair[1])), value.T,
            cmap=ramp, vmin=-most, vmax=most, edgecolors="none", antialiased=False,
        )  # fmt: skip
        for axis, j in zip((axes.xaxis, axes.yaxis), pair, strict=True):
            axis.set_ticks(*self._quantile_ticks(j))
        axes.tick_params(axis="x", rotation=30)
        for name, j in zip(("x", "y"), pair, strict=True):
            axes.set(**{f"{name}label": plain(self.schema.features[j].name, 40)})
        axes.xaxis.label.set(color=SOFT, size=8)
        axes.yaxis.label.set(color=SOFT, size=8)

    def _shown(self, values: np.ndarray, shares: np.ndarray) -> list[int]:
        """Scores that are drawn in colour."""
        if self.binary:
            return [0]
        size = shares @ np.abs(values)
        return sorted(np.argsort(-size)[:MOST_LABELS].tolist())

    def _colour(self, score: int) -> str:
        return BLUE if self.binary else label_colour(score, len(self.names))

    def _draw_range(
        self,
        axes: Any,
        feature: Continuous,
        edges: np.ndarray,
        values: np.ndarray,
        bands: np.ndarray,
        shares: np.ndarray,
        shown: list[int],
    ) -> None:
        from matplotlib.ticker import FuncFormatter

        n = len(edges) - 1
        self._scale(axes.yaxis)
        axes.set_ylim(self.low, self.high)
        axes.axhline(0, color=SOFT, linewidth=0.7, zorder=1)
        density = np.sqrt(shares[:n] / np.diff(edges))
        height = 0.13 * (self.high - self.low) / max(density.max(), 1e-12)
        axes.stairs(self.low + height * density, edges, baseline=self.low, fill=True, color=GRID, zorder=0)
        for score in range(values.shape[1]):
            if score not in shown:
                axes.stairs(values[:n, score], edges, baseline=None, color=FAINT, linewidth=0.8)
        for score in shown:
            line, wide = values[:n, score], SURE * bands[:n]
            alpha = 0.22 if self.binary else 0.12
            axes.stairs(
                line + wide, edges, baseline=line - wide, fill=True, color=self._colour(score), alpha=alpha
            )
            axes.stairs(line, edges, baseline=None, color=self._colour(score), linewidth=1.8)
        axes.set_xlim(edges[0], edges[-1])
        if isinstance(feature, Moment):
            axes.set_xticks(*_dated(feature, float(edges[0]), float(edges[-1])))
        else:
            axes.locator_params(axis="x", nbins=6)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
        if len(values) > n:
            self._draw_missing(axes, feature, edges, values[n], bands[n], shown)
        if not self.binary:
            self._legend(axes, shown)

    def _draw_missing(
        self,
        axes: Any,
        feature: Continuous,
        edges: np.ndarray,
        value: np.ndarray,
        band: float,
        shown: list[int],
    ) -> None:
        """Missing values stand apart, to the right of a gap."""
        width = edges[-1] - edges[0]
        place = edges[-1] + 0.1 * width
        axes.axvspan(edges[-1], place + 0.1 * width, color=WASH, zorder=0, linewidth=0)
        for score in shown:
            axes.errorbar(
                place,
                value[score],
                SURE * band,
                fmt="o",
                markersize=4,
                color=self._colour(score),
                linewidth=1.4,
            )
        axes.annotate(
            "missing",
            (place, self.low),
            (0, 3),
            textcoords="offset points",
            ha="center",
            color=SOFT,
            fontsize=7,
        )
        axes.set_xlim(edges[0], place + 0.1 * width)
        kept = [
            (tick, label.get_text())
            for tick, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
            if edges[0] <= tick <= edges[-1]
        ]
        if isinstance(feature, Moment):
            axes.set_xticks(*map(list, zip(*kept, strict=True)))
        else:
            axes.set_xticks([tick for tick, _ in kept])

    def _draw_categories(
        self,
        axes: Any,
        feature: Categorical,
        values: np.ndarray,
        bands: np.ndarray,
        shares: np.ndarray,
        shown: list[int],
    ) -> None:
        names = feature.names + ["missing"] * feature.missing
        order = self._order(feature, values, shares)
        self._scale(axes.xaxis, SIDE_BY_SIDE)
        axes.set_xlim(self.low, self.high)
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        axes.axvline(0, color=SOFT, linewidth=0.7, zorder=1)
        lifts = np.linspace(-0.25, 0.25, len(shown)) if len(shown) > 1 else [0.0]
        for score, lift in zip(shown, lifts, strict=True):
            axes.errorbar(
                values[order, score], np.arange(len(order)) + lift, xerr=SURE * bands[order], fmt="o",
                markersize=4, color=self._colour(score), elinewidth=3 if self.binary else 1.5,
                ecolor=(*_rgb(self._colour(score)), 0.3),
            )  # fmt: skip
        hidden = len(values) - len(order)
        axes.set_yticks(np.arange(len(order)), [plain(names[i], LONGEST) for i in order])
        axes.set_ylim(-0.7, len(order) - 0.3)
        if hidden:
            axes.annotate(
                f"and {hidden} rarer ones", (1, 0), (0, 3), xycoords="axes fraction",
                textcoords="offset points", ha="right", color=SOFT, fontsize=7,
            )  # fmt: skip
        if not self.binary:
            self._legend(axes, shown)

    def _order(self, feature: Categorical, values: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """The frequent categories in the order that they are drawn in, from below."""
        by = values[:, self._shown(values, shares)[-1]]
        order = np.arange(len(values)) if feature.ordered else np.argsort(by, kind="stable")
        frequent = np.argsort(-shares)[:MOST_CATEGORIES]
        return np.array([i for i in order if i in frequent], np.int64)

    def _scale(self, axis: Any, apart: float = 0.0) -> None:
        """Ticks in chances of the second label, in factors of a label's odds, or in the target's own unit.

        What is written side by side needs room: ``apart`` is the least between two, as a share of the axis.
        """
        least = apart * (self.high - self.low)
        if self.number:
            axis.set_major_formatter(lambda value, _: f"{value:+,.6g}" if value else "0")
        elif self.binary:
            grid = np.linspace(self.low, self.high, 2001)
            chance = probabilities(self.effects.base + grid[:, None], 2)[:, 1]
            kept = [c for c in CHANCES if chance[0] < c < chance[-1]]
            places = [float(np.interp(c, chance, grid)) for c in kept]
            axis.set_ticks(*_with_room(places, [f"{c:.3g}" if c < 0.01 else f"{c:.0%}" for c in kept], least))
        else:
            kept = [f for f in FACTORS if self.low < np.log(f) < self.high]
            names = [f"×{f:g}" if f >= 1 else f"÷{1 / f:g}" for f in kept]
            axis.set_ticks(*_with_room([float(np.log(f)) for f in kept], names, least))

    def _legend(self, axes: Any, shown: list[int]) -> None:
        from matplotlib.lines import Line2D

        lines = [Line2D([], [], color=self._colour(score), linewidth=2) for score in shown]
        axes.legend(
            lines, [plain(self.names[score], LONGEST) for score in shown], ncols=len(shown),
            loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=7, handlelength=1.0,
            columnspacing=1.0, borderpad=0, labelcolor=INK,
        )  # fmt: skip

    def _shares(self, feature: int) -> np.ndarray:
        return self.told.bin_shares[self.told.bins.slices[feature]]

    def _edges(self, feature: int, told: Continuous) -> np.ndarray:
        """Ends of a feature's bins, in its own unit."""
        bins = feature_bins(self.told, feature)[:-1]
        first = np.concatenate([[0], np.flatnonzero(np.diff(bins)) + 1, [told.n_cells]])
        return np.array([told.edge(int(cell)) for cell in first])

    def _quantile_ticks(self, feature: int) -> tuple[list[float], list[str]]:
        """Ticks of an axis on which every bin is as wide as its share of the rows."""
        told, ends = self.schema.features[feature], _cumulated(self._shares(feature))
        if isinstance(told, Categorical):
            names = told.names + ["missing"] * told.missing
            kept = np.flatnonzero(np.diff(ends) > 0.06)
            return [float(ends[i] + ends[i + 1]) / 2 for i in kept], [plain(names[i], 12) for i in kept]
        edges = self._edges(feature, told)
        ticks: list[int] = []
        for i, end in enumerate(ends[: len(edges)]):
            if not ticks or end - ends[ticks[-1]] >= 0.14:
                ticks.append(i)
        return [float(ends[i]) for i in ticks], [written(told, edges[i]) for i in ticks]


def feature_bins(told: FeatureShapes, feature: int) -> np.ndarray:
    """Bin of every code of a feature."""
    return places(told.bins.views, feature, told.schema.features[feature].n_codes)


def draw_importances(axes: Any, names: list[str], importances: np.ndarray, noise: np.ndarray) -> None:
    """Bars of what each feature does on average, and marks of what noise alone would do."""
    order = np.argsort(importances)
    lines = np.arange(len(order))
    clean(axes)
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    speaks = importances > noise
    axes.barh(lines, importances[order], height=0.62, color=[BLUE if speaks[i] else FAINT for i in order])
    total, far = max(float(importances.sum()), 1e-12), 0.01 * max(float(importances.max(initial=0)), 1e-12)
    for line, i in zip(lines, order, strict=True):
        end = max(importances[i], noise[i]) + far
        axes.text(end, line, f"{importances[i] / total:.0%}", va="center", color=SOFT, fontsize=7)
    axes.vlines(noise[order], lines - 0.42, lines + 0.42, color=INK, linewidth=1.2)
    axes.set_yticks(lines, [plain(names[i], LONGEST) for i in order])
    axes.set_xticks([])
    axes.set_ylim(-0.7, len(order) - 0.3)


def draw_overview(shapes: Shapes, most: int = 8) -> Any:
    """One figure: what each feature does on average, and the shapes of those that do most."""
    names = shapes.schema.feature_names
    order = np.argsort(-shapes.effects.importances)[:most].tolist()
    lines = -(-(len(order) + 1) // 3)
    figure = new_figure(12, 2.9 * lines)
    grid = figure.subplots(lines, 3, squeeze=False).ravel()
    kept = np.sort(np.argsort(-shapes.effects.importances)[:14])
    draw_importances(
        grid[0], [names[i] for i in kept], shapes.effects.importances[kept], shapes.effects.noise[kept]
    )
    grid[0].set_title("What matters (line: noise alone)", loc="left", color=INK, weight="bold", fontsize=10)
    for axes, feature in zip(grid[1:], order, strict=False):
        shapes.draw(axes, feature, names[feature])
    for axes in grid[len(order) + 1 :]:
        axes.axis("off")
    return figure


def _dated(feature: Moment, low: float, high: float) -> tuple[list[float], list[str]]:
    """Ticks of an axis of days or moments: years where there are several, else three dates."""
    first, last = int(feature.shown(low)[:4]) + 1, int(feature.shown(high)[:4])
    years = range(first, last + 1, -(-(last - first + 1) // 5))
    if len(years) < 2:
        places = np.linspace(low, high, 4)[:3].tolist()
        return places, [feature.shown(place) for place in places]
    places = [feature.number(f"{year:04}-01-01") for year in years]
    return [place for place in places if place is not None], [f"{year}" for year in years]


def _cumulated(shares: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(shares) / shares.sum()])


def _rgb(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)


def _with_room(places: list[float], names: list[str], least: float) -> tuple[list[float], list[str]]:
    """Ticks in order, without those that stand too close behind one that is kept."""
    kept: list[int] = []
    for i, place in enumerate(places):
        if not kept or place - places[kept[-1]] >= least:
            kept.append(i)
    return [places[i] for i in kept], [names[i] for i in kept]
