"""The worker process, `python -m harness.bench.running.worker`: everything that can crash happens in here.

A loop that answers requests (`harness.bench.workers.protocol`) over a channel whose file descriptor comes as
an argument.  Standard output and error belong to compilers and kernels; the parent
(`harness.bench.workers.process`) keeps them in a log.  A guardian (`harness.system.processes.guardian`) ends
it with its parent, whatever either is doing then.
"""

import argparse
import contextlib
import faulthandler
import importlib
import os
import socket
import sys
import traceback
from typing import Any

from harness.artifact.code_digests import code_digests
from harness.bench.running import check_requests, peak_sampling, prepared_case
from harness.bench.running.failure_kinds import failure_of
from harness.bench.workers.import_path import take_import_path
from harness.bench.workers.protocol import Greeting, Life, Request, receive_message, send_message
from harness.system.machine.placement import elsewhere
from harness.system.processes.lives import live
from harness.system.processes.own_memory import limit_memory

NEEDED_IN_ALL_LIVES = (check_requests, prepared_case, peak_sampling)
"""Modules of requests that are imported once, and not in each life."""


def serve(channel: socket.socket, life: Life) -> None:
    """Greet the parent, then answer requests until it closes its end of the channel."""
    send_message(channel, Greeting(pid=os.getpid()))
    while True:
        try:
            request = receive_message(channel)
        except EOFError:
            return
        response = answer(request, life)
        if life.begins_others:
            life.begins_others = False
            live(lambda: elsewhere(lambda: serve(channel, life)))
        send_message(channel, response)


def answer(request: Request[Any], life: Life) -> Any:
    """Answer one request; an exception becomes a `WorkerFailure`."""
    response: Any
    try:
        response = request(life)
    except Exception as error:
        response = failure_of(error)
        with contextlib.suppress(OSError):  # the log's disk may be full
            traceback.print_exc()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    return response


def main() -> None:
    """Serve the parent that started this process."""
    parser = argparse.ArgumentParser(prog="python -m harness.bench.running.worker")
    parser.add_argument("--channel", type=int, required=True, help="file descriptor of a socket")
    parser.add_argument("--memory-gb", type=float, help="limit of this process's memory")
    parser.add_argument("modules", nargs="*", help="what all lives need besides")
    arguments = parser.parse_args()
    faulthandler.enable()
    take_import_path()
    if arguments.memory_gb is not None:
        limit_memory(arguments.memory_gb)
    for module in arguments.modules:
        with contextlib.suppress(Exception):  # the request that needs it says what is wrong
            importlib.import_module(module)
            code_digests(["harness", module.partition(".")[0]])  # once for all lives
    with socket.socket(fileno=arguments.channel) as channel:
        channel.set_inheritable(False)
        live(lambda: elsewhere(lambda: serve(channel, Life())))


if __name__ == "__main__":
    main()
