"""`tflogscope report`: the run as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tflogscope.cli.inputs import are_together, named_inputs, opened_each, require_one, stored
from tflogscope.cli.options import Force, Logs, OwnGrammar, PageOutput, option
from tflogscope.cli.output import Target, target
from tflogscope.errors import UsageError
from tflogscope.exports.atomic import atomic_file
from tflogscope.stores.folder import store_and_run

if TYPE_CHECKING:
    from tflogscope.stores.store import Store
    from tflogscope.views.document import Node


def report(
    logs: Logs = None,
    *,
    output: PageOutput = None,
    full: Annotated[bool, option("--full", "Omit nothing, however large the page gets.")] = False,
    redacted: Annotated[
        bool,
        option("--redacted", "Replace the program's names with pseudonyms, to share the page."),
    ] = False,
    force: Force = False,
    grammar: OwnGrammar = None,
) -> None:
    """Write a run as one self-contained HTML page.

    Contains findings, an interactive timeline, tables of ops and functions, oneDNN primitives, and
    what the log lacks. For a store, writes an overview of the runs and a folder with a page for
    each.

    \b
    Examples:
      tflogscope report run.log -o report.html
      tflogscope report run.log -o report.html --full --force
      tflogscope report run.log -o shareable.html --redacted
    """
    inputs = named_inputs(logs)
    place = target(output, force=force, inputs=inputs, file="report.html")
    if len(inputs) == 1 and (named := store_and_run(inputs[0])):
        if redacted:
            hint = "Redact the logs, collect the copies: tflogscope redact LOG -o REDACTED.log.zst"
            raise UsageError("store pages can't be redacted", inputs[0], hint)
        name, id_ = named
        if id_ is None:
            from tflogscope.stores.store import open_store

            _report_store(open_store(name), name, place)
            return
    with opened_each(inputs, grammar, again=True) as (parts, runs):
        if are_together(parts) and not redacted:
            with stored(runs) as store:
                _report_store(store, inputs[0], place)
            return
        require_one(inputs, parts)
        from tflogscope.api import page

        text = page(next(runs), full=full, redacted=redacted)
    with place.opened() as stream:
        stream.write(text.encode())


def _report_store(store: Store, name: str, place: Target) -> None:
    """Write the overview of a store, with a page for each run."""
    from tflogscope.stores.figures import read_figures
    from tflogscope.stores.stored_run import StoredRun
    from tflogscope.views.report.store import PAGES, page_of, run_page, store_page

    if place.path is None:
        raise UsageError("a store's pages need a file name", None, "Add one: -o report.html")
    folder = Path(f"{place.path}{PAGES}")
    folder.mkdir(exist_ok=True)
    figures = read_figures(store).to_dicts()
    for row in figures:
        run = StoredRun(store, store.row(row["run"]))
        tables = (run.findings, run.ops, run.functions)
        page = run_page(run.row, *(table.to_dicts() for table in tables))
        with atomic_file(folder / page_of(row["run"]), force=True) as stream:
            stream.write(page.encode())
    failed = store.rows.filter(state="failed").to_dicts()
    text = store_page(name, [*figures, *failed], folder.name, _more(store))
    with place.opened() as stream:
        stream.write(text.encode())


def _more(store: Store) -> list[Node]:
    """Sections of the overview: figures over time; ranks, where the store has runs of several."""
    from tflogscope.stores.figures import FIGURES
    from tflogscope.stores.ranks import rank_facts
    from tflogscope.stores.trend import trend_facts
    from tflogscope.views.document import Section
    from tflogscope.views.ranks import ranks_sections
    from tflogscope.views.trend import trend_section

    figures = [(figure.key, figure.title) for figure in FIGURES]
    try:
        ranked = store.of_one_run or store.rows["rank"].count() > 0
        groups = rank_facts(store) if ranked else []
    except UsageError:
        groups = []
    return [
        trend_section(trend_facts(store), figures, "Over time"),
        *(
            Section(f"Ranks {facts['group']}".rstrip(), ranks_sections(facts), f"ranks-{number}")
            for number, facts in enumerate(groups)
        ),
    ]
