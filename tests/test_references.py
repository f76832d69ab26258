"""What pages, configs and docstrings cite stands on docs/references.md."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("jaxeval/**/*.py")]
PAGES += ROOT.glob("configs/**/*.toml")
YEAR = r"(?:19|20)\d\d"
OTHERS = r"(?: (?:and|&) \w+(?:'s)?| et al\.?)?"
# Name (1999), Name and Other (1999), (Name & Other 1999), Name et al. 1999
CITED = re.compile(
    rf"([A-Z][\w-]+?)(?:'s)?{OTHERS},? \(({YEAR})[,;)]|\(([A-Z][\w-]+?){OTHERS} ({YEAR})|"
    rf"([A-Z][\w-]+) (?:& [A-Z]\w+|et al\.) ({YEAR})"
)

SETS = {"Opinion", "SIGMORPHON", "Term", "VecEval"}  # shared tasks and their data


def test_all_that_is_cited_is_named() -> None:
    """Dies if a paper that is cited by name and year is not on the list, or spelt otherwise."""
    listed: dict[str, str] = {}
    for line in (ROOT / "docs" / "references.md").read_text().splitlines():
        if entry := re.match(rf"\* (.*?) \(({YEAR})\)", line):
            listed[entry[2]] = f"{listed.get(entry[2], '')} {entry[1]}"
    lacking = set()
    for page in PAGES:
        for found in CITED.findall(page.read_text()):
            name, year = (of for of in found if of)
            if name not in SETS and not re.search(rf"\b{re.escape(name)}\b", listed.get(year, "")):
                lacking.add((name, year, page.name))
    assert not lacking
