"""Chromium without a window, told what to do over a pipe (the Chrome DevTools Protocol)."""

import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
ANSWER_LIMIT_S = 120.0
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-pipe",
)


def find_chromium() -> str | None:
    """Return the program, None where it is not installed."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """A page in the browser, and what went wrong in it."""

    def __init__(self, browser: "Browser", session: str) -> None:
        self._browser = browser
        self._session = session
        self.requests: list[str] = []
        """Addresses that were asked for, besides the page's own and what is in it."""
        self.complaints: list[str] = []
        """Exceptions, refusals by the page's policy and dialogs."""

    def call(self, method: str, **parameters: Any) -> Any:
        return self._browser.call(method, self._session, **parameters)

    def show(self, file: Path, width: int = 1200, height: int = 900, *, dark: bool = False) -> None:
        """Load a file and wait until its scripts have run."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.prefer("dark" if dark else "light")
        self.call("Page.navigate", url=file.as_uri())
        self.wait_for("location.protocol === 'file:' && document.readyState === 'complete'")

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def prefer(self, scheme: str) -> None:
        """Have the reader prefer the colour scheme `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def value(self, expression: str) -> Any:
        """Return what a JavaScript expression is, as JSON."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> None:
        deadline = time.monotonic() + ANSWER_LIMIT_S
        while not self.value(condition):
            assert time.monotonic() < deadline, f"not so: {condition}"
            time.sleep(0.02)

    def choose(self, select_id: str, text: str) -> None:
        """Choose an option by its text, as a person does."""
        chosen = self.value(
            f"""(() => {{
              const select = document.getElementById({json.dumps(select_id)});
              const option = [...select.options].find((o) => o.text === {json.dumps(text)});
              if (option === undefined) return [...select.options].map((o) => o.text);
              select.value = option.value;
              select.dispatchEvent(new Event("change", {{ bubbles: true }}));
              return null;
            }})()"""
        )
        assert chosen is None, f"{text!r} is none of {chosen}"

    def note(self, event: dict[str, Any]) -> None:
        """Keep what an event tells of."""
        parameters = event.get("params", {})
        match event["method"]:
            case "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if not url.startswith("data:") and parameters.get("type") != "Document":
                    self.requests.append(url)
            case "Runtime.exceptionThrown":
                self.complaints.append(str(parameters["exceptionDetails"]))
            case "Log.entryAdded":
                self.complaints.append(parameters["entry"]["text"])
            case "Page.javascriptDialogOpening":
                self.complaints.append(parameters["message"])


class Browser:
    """One browser; `open_page` gives pages of it."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = commands
        self._answers = answers
        self._received = b""
        self._number = 0
        self._pages: dict[str, Page] = {}

    def open_page(self) -> Page:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        return page

    def call(self, method: str, session: str | None = None, **parameters: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            page = self._pages.get(answer.get("sessionId", ""))
            if page is not None and "method" in answer:
                page.note(answer)

    def _next(self) -> dict[str, Any]:
        """Return the next message of the browser."""
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._answers], [], [], ANSWER_LIMIT_S)
            part = os.read(self._answers, 1 << 20) if ready else b""
            assert part, "the browser has ended, or does not answer"
            self._received += part
        message, _, self._received = self._received.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer


@contextlib.contextmanager
def running_browser(program: str, folder: Path) -> Iterator[Browser]:
    """Start a browser with a profile of its own, and end it."""
    read_commands, write_commands = map(_out_of_the_way, os.pipe())
    read_answers, write_answers = map(_out_of_the_way, os.pipe())
    given = (read_commands, write_answers)
    shell = f'exec "$@" 3<&{read_commands} 4>&{write_answers}'
    command = ["bash", "-c", shell, "browser", program, *OPTIONS, f"--user-data-dir={folder}"]
    with subprocess.Popen(
        command, pass_fds=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        for descriptor in given:
            os.close(descriptor)
        browser = Browser(write_commands, read_answers)
        try:
            yield browser
            browser.call("Browser.close")
        finally:
            os.close(write_commands)
            os.close(read_answers)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()


def _out_of_the_way(descriptor: int) -> int:
    """Return a copy of a descriptor that is none of 3 and 4, which the browser talks by."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved
