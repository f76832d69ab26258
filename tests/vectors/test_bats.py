"""BATS as it is published, asked by `jaxeval vectors analogies`."""

import json
from pathlib import Path

import numpy as np
import pytest

from jaxeval.vectors import __main__ as command

BATS = {  # as published: folders of four kinds, a relation a file, answers separated by /
    "1_Inflectional_morphology/I01 [noun - plural_reg].txt": (
        "album\talbums\r\napplication\tapplications\r\narea\tareas\r\n"
    ),
    "2_Derivational_morphology/D01 [noun+less_reg].txt": (
        "arm\tarmless\nart\tartless\nchild\tchildless\n"
    ),
    "3_Encyclopedic_semantics/E01 [country - capital].txt": (
        "athens\tgreece\nbaghdad\tiraq\nhavana\tcuba/caribbean\n\n"
    ),
    "4_Lexicographic_semantics/L01 [hypernyms - animals].txt": (
        "allosaurus\tdinosaur/reptile/animal\nanaconda\tsnake/reptile\nbee\tinsect\n"
    ),
}


def test_bats_as_published(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a folder of BATS cannot be asked, a second answer is wrong, or counts of a relation
    are another's.

    Words have a dimension each, right answers that of their word and of their relation; of
    allosaurus only the second answer has a vector, so that two of six questions lack b.
    """
    lines, relations = [], len(BATS)
    for number, (name, content) in enumerate(BATS.items()):
        file = tmp_path / "BATS_3.0" / name
        file.parent.mkdir(parents=True)
        file.write_bytes(content.encode())
        for row, line in enumerate(content.split("\n")[:3]):
            word, answers = line.split()
            own = np.eye(relations + 3 * relations)[relations + 3 * number + row]
            moved = own + np.eye(len(own))[number]
            answer = answers.replace("dinosaur/", "").split("/")[0]
            for spelled, vector in ((word, own), (answer, moved)):
                lines.append(" ".join([spelled, *map(str, vector)]))
    (tmp_path / "v.txt").write_text("\n".join(lines))
    files = [str(tmp_path / "v.txt"), str(tmp_path / "BATS_3.0")]
    assert command.main(["analogies", *files, "--json", "-", "--resamples", "99"]) == 0
    for result in json.loads(capsys.readouterr().out)["results"]:
        score = result["scores"]["v.txt"]
        each = {"all": score["overall"], **score["groups"], **score["sections"]}
        counts = {key: [of[n] for n in ("right", "covered", "total")] for key, of in each.items()}
        assert counts["all"] == [22, 22, 24]
        assert counts["4_Lexicographic_semantics"] == [4, 4, 6]
        assert counts["L01 [hypernyms - animals]"] == [4, 4, 6]
        assert counts["I01 [noun - plural_reg]"] == [6, 6, 6] and len(counts) == 1 + 4 + 4
