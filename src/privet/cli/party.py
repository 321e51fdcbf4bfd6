"""``privet party``: several owners, no server, files that can go by mail."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.arguments import (
    Data,
    Encoding,
    Json,
    LedgerFile,
    Name,
    SchemaFile,
    Separator,
    epsilon_of,
    open_account,
    open_place,
)
from privet.cli.budget import account_state, show_account
from privet.cli.output import facts, out, require_new_file, show_json, warn
from privet.errors import QuestionError
from privet.model import CountForest, NumberForest, UnionForest, load_model
from privet.model.file import read_whole
from privet.model.voting import VOTINGS
from privet.parties import (
    PublicStructure,
    SignedVector,
    draw_structure,
    load_key,
    merge,
    new_key,
    public_key,
    publish,
    read_known_keys,
    unite,
)
from privet.parties.keys import MAGIC as SIGNED
from privet.parties.keys import check_party
from privet.privacy import protect
from privet.progress import progress_bar
from privet.schema import Schema

app = typer.Typer(
    help="Learn with other owners: agree on a structure, publish signed counts, merge them.",
    no_args_is_help=True,
)

Party = Annotated[str, typer.Argument(metavar="PARTY", help="Name of the party.")]
Structure = Annotated[Path, typer.Argument(metavar="STRUCTURE", help="Structure that the parties agreed on.")]
UNCHECKED = (
    "Signatures show that every file is as its sender signed it, not who the sender is. Get the parties' "
    "public keys by a way you trust and give them with [b]--keys[/b]."
)


@app.command()
def key(
    party: Party,
    out_file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="New key file; by default PARTY.key.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a key pair: the private key to keep, and a .pub file to give to everyone."""
    private = out_file or Path(f"{check_party(party).replace('/', '-')}.key")
    public = private.with_suffix(".pub")
    if private == public:
        raise QuestionError(
            "the public key is written beside the private one, to a name that ends in .pub.",
            f"name the private key {str(private.with_suffix('.key'))!r}, say.",
        )
    for path in (private, public):
        require_new_file(path)
    check_party(party)
    made = public_key(new_key(private))
    public.write_text(f"{party} {made}\n", encoding="utf-8")
    if as_json:
        show_json({"party": party, "private": str(private), "public": str(public), "key": made})
        return
    out.print(f"Wrote {private}: keep it secret. Whoever has it can publish in your name.")
    out.print(f"Wrote {public}: give it to the other parties by a way they trust.")


@app.command()
def structure(
    schema: SchemaFile,
    epsilon: Annotated[Any, epsilon_of("What each party is asked to spend.")],
    out_file: Annotated[Path, typer.Option("--out", metavar="FILE", help="New file for the structure.")],
    delta: Annotated[
        float, typer.Option(metavar="D", help="Chance that ε fails; 0 is the strict promise.")
    ] = 0.0,
    trees: Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of trees.")] = None,
    depth: Annotated[int | None, typer.Option(metavar="N", min=1, help="Depth of every tree.")] = None,
    voting: Annotated[
        str,
        typer.Option(
            metavar="NAME", help=f"How the merged model reads its leaves of labels: {', '.join(VOTINGS)}."
        ),
    ] = "posterior",
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Public seed of the trees.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Draw the trees that all parties will fill; no table is read."""
    require_new_file(out_file)
    drawn = draw_structure(
        Schema.load(schema), epsilon, delta, n_trees=trees, max_depth=depth, voting=voting, seed=seed
    )
    drawn.save(out_file)
    _report(
        f"Wrote {out_file}: send it to every party.", {"structure": str(out_file)} | drawn.describe(), as_json
    )


@app.command("publish")
def publish_vector(
    structure: Structure,
    data: Data,
    party: Annotated[str, typer.Option(metavar="NAME", help="Name under which to publish.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="Private key of the party.")],
    out_file: Annotated[Path, typer.Option("--out", metavar="FILE", help="New file for the signed counts.")],
    epsilon: Annotated[Any, epsilon_of("What to spend; by default what the structure says.")] = None,
    overlapping: Annotated[
        bool, typer.Option("--overlapping", help="Some of these people may be with another party too.")
    ] = False,
    separator: Separator = None,
    encoding: Encoding = None,
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Fill a structure with a table's noisy counts, pay for them, and sign them.

    Everything that can be checked without reading rows is checked before anything is charged.
    """
    agreed, signer = PublicStructure.load(structure), load_key(key)
    require_new_file(out_file)
    place = open_place(data, separator, encoding)
    account = open_account(data, ledger, name)
    with progress_bar("counting", sys.stderr.isatty() and not as_json) as progress:
        rows = protect(place, agreed.schema, account, progress=progress)
        vector = publish(agreed, rows, party, signer, epsilon=epsilon, disjoint=not overlapping)
    vector.save(out_file)
    if as_json:
        show_json({"vector": str(out_file), **vector.describe(), "account": account_state(account)})
        return
    out.print(f"Wrote {out_file}: {party}, {vector.card.promise}, signed.", soft_wrap=True)
    out.print("On the account:")
    show_account(account)


@app.command("merge")
def merge_files(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help="STRUCTURE VECTOR…, or with --vertical MODEL MODEL…"),
    ],
    out_file: Annotated[Path, typer.Option("--out", metavar="FILE", help="New file for the model.")],
    keys: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Known parties: the lines of their .pub files.")
    ] = None,
    vertical: Annotated[
        bool, typer.Option("--vertical", help="Unite models over different attributes of the same people.")
    ] = False,
    voting: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How a union reads its leaves; by default as its parts do."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make one model of what parties published. Costs nothing."""
    require_new_file(out_file)
    if vertical and keys is not None:
        raise QuestionError("models of vertical parties carry no signature.", "leave --keys out.")
    if not vertical and voting is not None:
        raise QuestionError("the structure says how to vote.", "leave --voting out.")
    model = _united(files, voting) if vertical else _merged(files, keys)
    model.save(out_file)
    if not vertical and keys is None:
        warn("IDENTITIES WERE NOT CHECKED", UNCHECKED)
    if as_json:
        show_json({"model": str(out_file), "card": model.card.to_dict()})
        return
    n = len(model.card.batches)
    parties = f"{n} parties" if n > 1 else "1 party"
    out.print(f"Wrote {out_file}: {parties}, {model.card.promise}.", soft_wrap=True)
    out.print(facts(row for row in model.card.rows() if row[0] in ("neighbours", "caveat", "party")))


@app.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A structure, or signed counts.")],
    as_json: Json = False,
) -> None:
    """Show what a structure or a party's file says; a broken signature is refused."""
    signed = read_whole(file).startswith(SIGNED)
    read: Callable[[Path], Any] = SignedVector.load if signed else PublicStructure.load
    _report(str(file), read(file).describe(), as_json)


def _merged(files: list[Path], keys: Path | None) -> CountForest | NumberForest:
    agreed, *vectors = files
    known = None if keys is None else read_known_keys(keys)
    return merge(PublicStructure.load(agreed), [SignedVector.load(path) for path in vectors], known)


def _united(files: list[Path], voting: str | None) -> UnionForest:
    models = {path.stem: load_model(path, CountForest) for path in files}
    if len(models) < len(files):
        raise QuestionError("two of these files have the same name.", "name each after its party.")
    return unite(models, voting)


def _report(title: str, told: dict[str, Any], as_json: bool) -> None:
    if as_json:
        show_json(told)
        return
    out.print(title, soft_wrap=True)
    out.print(facts(told.items()))
