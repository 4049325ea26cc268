"""What happens is told here, to whoever listens.

Every place where something happens that a log of TensorFlow would show calls a method of the one
listener, which does nothing unless somebody listens. A listener overrides the methods it cares for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any


class Listener:
    """Hears everything and does nothing: override what you want to know."""

    def constant_made(self, tensor: Any, *, cast: bool) -> None:
        """A Python or NumPy value became an eager tensor (`_EagerConst`; `cast`: after a `Cast`)."""

    def op_dispatched(
        self,
        op: str,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        outputs: Sequence[Any],
        cached: bool,
    ) -> None:
        """An op or a function is about to run eagerly; `outputs` are dtypes, `cached`: its kernel is
        not a new one.
        """

    def op_finished(self, op: str, outputs: Sequence[Any], error: BaseException | None) -> None: ...

    def function_instantiated(self, definition: Any, report: Any) -> None:
        """A graph was made ready to run; `report` says what the passes did."""

    def function_called(self, definition: Any) -> None: ...

    def function_returned(self, definition: Any, error: BaseException | None) -> None: ...

    def node_started(self, node: Any) -> None: ...

    def node_done(self, node: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None: ...

    def node_dead(self, node: Any) -> None:
        """It is in a branch not taken: no kernel runs."""

    def node_failed(self, node: Any, error: BaseException) -> None: ...

    def tape_followed(self, ops: Sequence[str]) -> None:
        """A tape was followed back over these ops."""


listener = Listener()
"""Who listens."""


@contextmanager
def listen(to: Listener | None) -> Iterator[None]:
    """Tell everything that happens, in all threads, to this listener; None: to nobody."""
    global listener  # noqa: PLW0603 - the one
    previous, listener = listener, to or Listener()
    try:
        yield
    finally:
        listener = previous
