"""A headless Chromium, driven by its DevTools protocol over two pipes."""

import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
COMMAND = next(filter(None, map(shutil.which, _NAMES)), None)
_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--remote-debugging-pipe", "--disable-dev-shm-usage"),
)


class Tab:
    """A page of a browser; every wait ends after `seconds`."""

    def __init__(self, reading: int, writing: int, seconds: float):
        os.set_blocking(reading, False)
        self._reading, self._writing, self._seconds = reading, writing, seconds
        self._numbers, self._received, self._session = itertools.count(1), b"", ""
        self.errors: list[str] = []  # of scripts, of the policy, of what could not be loaded
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.call("Log.enable")
        self.call("Runtime.enable")

    def call(self, method: str, **arguments: Any) -> Any:
        """Returns the result of a method of the protocol."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": arguments}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != number:
            self._note(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _note(self, event: dict[str, Any]) -> None:
        entry = event.get("params", {}).get("entry", {})
        if entry.get("level") == "error" or event["method"] == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(event["params"]))

    def _receive(self) -> dict[str, Any]:
        end = time.monotonic() + self._seconds
        while b"\0" not in self._received:
            assert time.monotonic() < end, "the browser does not answer"
            try:
                self._received += os.read(self._reading, 1 << 16)
            except BlockingIOError:
                time.sleep(0.01)
        message, self._received = self._received.split(b"\0", 1)
        return json.loads(message)

    def run(self, script: str) -> Any:
        """Returns the value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, script: str) -> Any:
        """Returns the value of an expression once it is true."""
        end = time.monotonic() + self._seconds
        while not (value := self.run(script)):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.05)
        return value

    def open(self, url: str, width: int = 1100, height: int = 900) -> None:
        """Opens a page and waits until it has loaded."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.light()
        self.call("Page.navigate", url=url)
        self.wait(f"document.readyState == 'complete' && location.href == {json.dumps(url)}")

    def light(self, dark: bool = False) -> None:
        """Asks pages for light or dark colours."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def press(self, key: str) -> None:
        """Presses and releases a key."""
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode={"Tab": 9, " ": 32}[key],
            )

    def save(self, path: Path) -> None:
        """Writes a picture of the whole page."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextlib.contextmanager
def tab(seconds: float = 30.0) -> Iterator[Tab]:
    """Starts a browser with an empty profile, and ends it."""
    assert COMMAND is not None
    (theirs, writing), (reading, ours) = os.pipe(), os.pipe()
    # the protocol wants files 3 and 4; bash places them, since JAX warns of forks of this process
    script = f'exec "$@" 3<&{theirs} 4>&{ours}'
    command = ["bash", "-c", script, "bash", COMMAND, *_FLAGS]
    quiet = subprocess.DEVNULL
    with (
        # its helpers may still write there when it has ended
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        subprocess.Popen(
            [*command, f"--user-data-dir={profile}", "about:blank"],
            stdout=quiet,
            stderr=quiet,
            pass_fds=(theirs, ours),
        ) as browser,
    ):
        try:
            yield Tab(reading, writing, seconds)
        finally:
            for end in (theirs, ours, reading, writing):
                os.close(end)
            browser.terminate()
            try:
                browser.wait(10)
            except subprocess.TimeoutExpired:
                browser.kill()
