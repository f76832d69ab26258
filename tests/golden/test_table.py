"""The table of recorded scores."""

from tests.golden import checking, commands


def test_every_command_is_recorded() -> None:
    """Dies if a command is added without its scores, or a line of the table has no command."""
    assert {score.command for score in checking.SCORES} == set(commands.COMMANDS)
    tested = [name for task in ("tagging", "language", "seq2seq") for name in checking.names(task)]
    assert sorted(tested) == sorted(commands.COMMANDS)
