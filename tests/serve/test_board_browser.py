"""A board in a browser: uploaded, judged, ticked, compared and deleted by its pages alone."""

from pathlib import Path

import pytest

from jaxeval.serve import boards
from jaxeval.serve.board import Board
from tests.serve import chromium, servers

pytestmark = pytest.mark.slow


def _send(tab: chromium.Tab, **fields: str) -> str:
    """Fills in the first form and sends it; returns what the page says then."""
    for name, value in fields.items():
        tab.run(f"document.querySelector('form [name={name}]').value = '{value}'")
    tab.run("document.querySelector('form button').click()")
    told = tab.wait("document.querySelector('output').textContent.replace('working ...', '')")
    return str(told)


@pytest.mark.skipif(chromium.COMMAND is None, reason="there is no chromium")
def test_a_browser_does_it_all(opened: Board, tmp_path: Path) -> None:
    """Dies if a form sends something else than its file and fields, or a refusal is not shown."""
    file = tmp_path / "mine.txt"
    file.write_text("mine")
    with servers.threaded(boards.part(opened)) as address, chromium.tab() as tab:
        for name in ("first", "second"):
            tab.open(f"{address}/queue")
            root = tab.call("DOM.getDocument")["root"]["nodeId"]
            found = tab.call("DOM.querySelector", nodeId=root, selector="input[type=file]")
            file.write_text(name)
            tab.call("DOM.setFileInputFiles", files=[str(file)], nodeId=found["nodeId"])
            told = _send(tab, name=name, about="drawn & <b>small</b>")
            page, key = told.split()[0], told.split()[-1]
            assert page.startswith("/vectors/") and "Keep this key" in told
        taken = f"this name is taken: base, /vectors/{opened.baseline}\n"
        assert _send(tab, name="base") == taken
        tab.open(f"{address}/vectors")
        boxes = "document.querySelectorAll('input[type=checkbox]')"
        tab.wait(f"{boxes}.length == 3 || (location.reload(), false)")
        tab.run(f"{boxes}[0].click(), {boxes}[2].click()")
        tab.run("document.querySelector('form button').click()")
        tab.wait("location.pathname == '/vectors/compare' && document.readyState == 'complete'")
        assert "Word vectors judged: " in tab.run("document.querySelector('h1').textContent")
        assert tab.run("document.querySelectorAll('svg').length") > 0
        tab.open(f"{address}{page}")
        assert "drawn & <b>small</b>" in tab.run("document.querySelector('main').textContent")
        assert _send(tab, key="other") == "x-key: expected the key that came with the upload\n"
        assert _send(tab, key=key) == "deleted"
        assert [of.name for of in opened.every("vectors")] == ["base", "first"]
