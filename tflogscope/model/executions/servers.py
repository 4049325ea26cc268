"""Whether a process is a server: other processes ask it for its work, and no Python of a user does.

`tf.distribute.Server` (workers and parameter servers of ParameterServerStrategy among them) and the
servers of the tf.data service.
"""

from __future__ import annotations

from tflogscope.events.events import Events
from tflogscope.model.common.once import once
from tflogscope.model.executions.executing import read_executing


@once
def serves(events: Events) -> str:
    """What the process serves; empty: it is no server, or Python asks for ops in it, too.

    A program may start the servers of the tf.data service in its own process.
    """
    if events.messages("python_op").height:
        return ""
    if events.messages("eager_service_context").height:
        return "tf.distribute.Server"
    started = events.messages("data_service_started")
    if started.height and read_executing(events).is_empty():
        return f"tf.data {started['kind'][0]}"
    return ""
