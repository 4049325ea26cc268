"""`tflogscope ranks`: the ranks of one run side by side."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tflogscope.cli.inputs import (
    are_together,
    named_inputs,
    opened_each,
    opened_store,
    say_what_is_left,
    stored,
)
from tflogscope.cli.options import AsJson, Logs, OwnGrammar
from tflogscope.cli.output import print_text, say
from tflogscope.errors import InputError, UsageError
from tflogscope.grammar.load import load_grammar
from tflogscope.model.common.sentences import listed
from tflogscope.stores.folder import store_and_run
from tflogscope.version import __version__

if TYPE_CHECKING:
    from tflogscope.stores.store import Store

_ALONE = "No other log is marked as the same job and run."


def ranks(
    logs: Logs = None,
    *,
    as_json: AsJson = False,
    grammar: OwnGrammar = None,
) -> None:
    """Compare the ranks of one run: differences and stragglers.

    Functions, kernels, oneDNN implementations, settings, releases and steps should be equal. The
    straggler is the rank that reaches the collectives last: it spends the least time in them.

    \b
    Examples:
      tflogscope ranks rank0.log rank1.log
      tflogscope ranks STORE --json
    """
    inputs = named_inputs(logs)
    from tflogscope.exports.json_text import json_object
    from tflogscope.stores.ranks import left_out, rank_facts
    from tflogscope.views.ranks import ranks_document
    from tflogscope.views.terminal import drawn

    with _store(inputs, grammar) as store:
        groups = rank_facts(store) if store.name in inputs else _of_logs(store, inputs)
        if left := left_out(store, groups):
            say(f"not compared: {listed(left)}. {_ALONE}")
    facts = {"runs": groups}
    print_text(json_object(facts, str) if as_json else drawn(ranks_document(groups)))


def _of_logs(store: Store, inputs: list[str]) -> list[dict[str, Any]]:
    from tflogscope.stores.ranks import rank_facts

    try:
        return rank_facts(store)
    except UsageError as error:
        hint = "Pass the logs of two or more ranks whose TF_CONFIG has the same cluster, each once."
        raise UsageError(error.what, ", ".join(inputs), hint) from error


@contextmanager
def _store(inputs: list[str], grammar: str | None) -> Iterator[Store]:
    """The store that is named; logs are collected into one for as long as they are compared."""
    from tflogscope.stores.collect import collect
    from tflogscope.stores.naming import name_runs
    from tflogscope.stores.pools import Processes
    from tflogscope.stores.store import open_store

    if store := opened_store(inputs):
        yield store
        return
    if store_and_run(inputs[0]):
        raise UsageError("one run has no other ranks", inputs[0], "Pass the store, or logs.")
    if len(inputs) == 1 and (inputs == ["-"] or os.path.isfile(inputs[0])):  # noqa: PTH113  as named
        with opened_each(inputs, grammar) as (parts, opened):
            if not are_together(parts):
                hint = "Pass the logs of all ranks, or a store."
                raise UsageError("only one process in this log", inputs[0], hint)
            with stored(opened) as made:
                yield made
        return
    if "-" in inputs:
        raise UsageError("each rank needs its own log", None, "Pass the logs, or a store.")
    with tempfile.TemporaryDirectory(prefix="tflogscope-") as directory:
        left: list[str] = []
        runs = name_runs(inputs, None, [], load_grammar(grammar), left)
        say_what_is_left(left)
        pool = Processes(min(len(runs), os.cpu_count() or 1))
        collected, _ = collect(runs, directory, pool, __version__, grammar=grammar)
        for row in collected:
            if row["state"] == "failed":
                raise InputError(row["error"], row["run"])
        yield open_store(directory)
