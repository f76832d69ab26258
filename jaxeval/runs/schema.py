"""The tables of a runs database; docs/runs.md describes them for users."""

import sqlalchemy as sa

VERSION = 3

metadata = sa.MetaData()

versions = sa.Table("jaxeval_schema", metadata, sa.Column("version", sa.Integer, primary_key=True))

experiments = sa.Table(
    "experiments",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("metric", sa.Text, nullable=False),
    sa.Column("higher_is_better", sa.Boolean, nullable=False),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("margin", sa.Double, nullable=False),
    sa.Column("config", sa.Text, nullable=False),
    sa.Column("config_hash", sa.Text, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    sa.Column("data_hash", sa.Text, nullable=False),
)

# what was found when an experiment's data were read; a table of its own, which databases of before
# lack
facts = sa.Table(
    "facts",
    metadata,
    sa.Column("experiment", sa.ForeignKey("experiments.id"), primary_key=True),
    sa.Column("facts", sa.Text, nullable=False),
)


def _member_key() -> list[sa.Column]:
    return [
        sa.Column("experiment", sa.ForeignKey("experiments.id"), primary_key=True),
        sa.Column("seed", sa.BigInteger, primary_key=True),
        sa.Column("split", sa.BigInteger, primary_key=True),
        sa.Column("repeat", sa.BigInteger, primary_key=True),
        sa.Column("hparams", sa.String(512), primary_key=True),
    ]


members = sa.Table(
    "members",
    metadata,
    *_member_key(),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("epochs", sa.Integer, nullable=False),
    sa.Column("best_epoch", sa.Integer),
    sa.Column("dev", sa.Double),
    sa.Column("test", sa.Double),
    sa.Column("wall_seconds", sa.Double, nullable=False),
    sa.Column("lanes", sa.Text, nullable=False),
    sa.Column("jax", sa.Text, nullable=False),
    sa.Column("flax", sa.Text, nullable=False),
    sa.Column("jaxeval", sa.Text, nullable=False),
    sa.Column("device", sa.Text, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
)

scores = sa.Table(
    "scores",
    metadata,
    *_member_key(),
    sa.Column("epoch", sa.Integer, primary_key=True),
    sa.Column("part", sa.String(16), primary_key=True),
    sa.Column("metric", sa.String(64), primary_key=True),
    sa.Column("value", sa.Double),
)

# what a member got right or wrong, item by item: the counts of each item of a part, [items, names]
# float32 in little-endian order, compressed by zlib
outcomes = sa.Table(
    "outcomes",
    metadata,
    *_member_key(),
    sa.Column("part", sa.String(16), primary_key=True),
    sa.Column("names", sa.Text, nullable=False),
    sa.Column("items", sa.Integer, nullable=False),
    sa.Column("counts", sa.LargeBinary, nullable=False),
)
