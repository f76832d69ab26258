"""`jaxeval mirror`: shows runs in TensorBoard, Weights & Biases, MLflow or trackio.

A mirror may be killed at any moment: it asks the tracker what was sent, so a restart sends what is
missing. W&B cannot append offline: a run that has not ended is written anew.
"""

import contextlib
import hashlib
import json
import os
import shutil
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from jaxeval import cli, parameters
from jaxeval.errors import ConfigError, JaxevalError, RunError, argument, parsing
from jaxeval.report import text
from jaxeval.runs import records, trackers

if TYPE_CHECKING:
    from jaxeval.runs import following

_PROJECT = "jaxeval"  # in W&B and trackio
_SECONDS = 1.0  # between two looks at the runs
_QUIET = 60.0  # seconds without a write in which a process may still begin to train
_FAILED = ("failed", "diverged")
_OF_END = ("status", "epochs", "best_epoch", "wall_seconds", "message")
_Rows = Mapping[int, Mapping[str, float]]  # epoch -> part/metric -> score


class _Member(NamedTuple):
    group: str  # the experiment, by name and id
    name: str  # within the group
    id: str
    config: dict[str, Any]


class _Target:
    """A member's run in a tracker; made by the tracker's place and the member."""

    ended = False  # the tracker has all of it
    sent: Collection[tuple[str, int]] = ()  # the metrics and epochs that it has

    def send(self, rows: _Rows, end: Mapping[str, Any]) -> None:
        """Sends scores, and how the member ended once it has."""
        raise NotImplementedError

    def close(self) -> None:
        """Leaves the run."""


class _TensorBoard(_Target):
    def __init__(self, place: str, member: _Member):
        from tensorboardX.event_file_writer import EventsWriter

        names = (urllib.parse.quote(name, " ") for name in (member.group, member.name))
        folder = Path(place or "tensorboard", *names)
        known = next(iter(trackers.find(folder)[1]), trackers.Run(""))
        self.ended = "status" in known.config
        self.sent = {(metric, epoch) for epoch, of in known.steps.items() for metric in of}
        self._config = member.config
        self._finals = [f"final/{part}/{member.config['metric']}" for part in ("dev", "test")]
        if not self.ended:
            folder.mkdir(parents=True, exist_ok=True)
            # the time: a mirror that was killed in this second has left a file
            self._writer = EventsWriter(str(folder / "events"), f".{time.time_ns()}")

    def send(self, rows: _Rows, end: Mapping[str, Any]) -> None:
        from tensorboardX import proto, summary

        parts = [(epoch, summary.scalar(*s)) for epoch, of in rows.items() for s in of.items()]
        if hparams := {**self._config, **end}:
            parts += [(0, part) for part in summary.hparams(hparams, self._finals)[:2]]
            self._config = {}
        for step, part in parts:
            event = proto.event_pb2.Event(wall_time=time.time(), step=step, summary=part)
            self._writer.write_event(event)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class _MLflow(_Target):
    def __init__(self, place: str, member: _Member):
        from mlflow import MlflowClient

        self._client = MlflowClient(place or None)
        known = self._client.get_experiment_by_name(member.group)
        group = known.experiment_id if known else self._client.create_experiment(member.group)
        tag = {"jaxeval.member": member.id}
        found = self._client.search_runs([group], f"tags.`jaxeval.member` = '{member.id}'")
        run = found[0] if found else self._client.create_run(group, None, tag, member.name)
        self._run, self.ended = run.info.run_id, run.info.status != "RUNNING"
        if not self.ended:
            self.send({}, member.config)
            histories = (self._client.get_metric_history(self._run, m) for m in run.data.metrics)
            self.sent = {(metric.key, metric.step) for history in histories for metric in history}

    def send(self, rows: _Rows, end: Mapping[str, Any]) -> None:
        from mlflow.entities import Metric, Param

        now, log = int(time.time() * 1000), self._client.log_batch
        scores = [Metric(m, x, now, epoch) for epoch, of in rows.items() for m, x in of.items()]
        for k in range(0, len(scores), 1000):  # the most that a server takes, and of params
            log(self._run, metrics=scores[k : k + 1000])
        params = [Param(key, str(value)[:6000]) for key, value in end.items()]
        for k in range(0, len(params), 100):
            log(self._run, params=params[k : k + 100])
        if "status" in end:
            state = "FAILED" if end["status"] in _FAILED else "FINISHED"
            self._client.set_terminated(self._run, state)


class _Wandb(_Target):
    def __init__(self, place: str, member: _Member):
        import wandb

        folder = Path(place or os.environ.get("WANDB_DIR", "."))
        for old in (folder / "wandb").glob(f"offline-run-*-{member.id}"):
            self.ended = self._is_whole(old)
            if self.ended:
                return
            shutil.rmtree(old)
        folder.mkdir(parents=True, exist_ok=True)
        about = member._asdict() | {"config": {**member.config, "status": "running"}}
        about["settings"] = wandb.Settings(silent=True, console="off", x_disable_stats=True)
        kind: dict[str, Any] = {"mode": "offline", "reinit": "create_new"}
        self._run = wandb.init(project=_PROJECT, dir=str(folder), **kind, **about)

    def send(self, rows: _Rows, end: Mapping[str, Any]) -> None:
        for epoch, scores in rows.items():
            self._run.log(dict(scores), step=epoch)
        self._run.config.update(dict(end), allow_val_change=True)

    @staticmethod
    def _is_whole(folder: Path) -> bool:
        found = trackers.find(folder)[1]
        return any(run.config.get("status", "running") != "running" for run in found)

    def close(self) -> None:
        status, folder = self._run.config["status"], Path(self._run.settings.sync_dir)
        self._run.finish(exit_code=int(status in _FAILED))
        for _ in range(500):  # a process of W&B still writes it
            if status == "running" or self._is_whole(folder):
                break
            time.sleep(0.02)


class _Trackio(_Target):
    def __init__(self, place: str, member: _Member):
        if place:
            os.environ["TRACKIO_DIR"] = place
        from trackio.sqlite_storage import SQLiteStorage

        self._log, self._member = SQLiteStorage.bulk_log, member

    def send(self, rows: _Rows, end: Mapping[str, Any]) -> None:
        of, scores = self._member, [dict(scores) for scores in rows.values()]
        ids = [f"{of.id} {epoch} {min(at, default='')}" for epoch, at in rows.items()]
        config = {**of.config, "_Group": of.group, **end}
        about: dict[str, Any] = {"config": config, "log_ids": ids, "run_id": of.id}
        # a row whose id is there is not written again
        self._log(_PROJECT, f"{of.group}/{of.name}", scores, [*rows], **about)


_TARGETS: dict[str, Callable[[str, _Member], _Target]] = {
    "tensorboard": _TensorBoard,
    "wandb": _Wandb,
    "mlflow": _MLflow,
    "trackio": _Trackio,
}


@parameters.verb
def mirror(
    runs: str | Path,
    *,
    to: Literal["tensorboard", "wandb", "mlflow", "trackio"],
    at: str | Path | None = None,
    follow: bool = False,
) -> None:
    """Shows the members of a runs folder in an experiment tracker, one run per member.

    Runs are grouped by experiment. Scores by epoch are metrics such as dev/f1; final/test/f1 is
    the score that jaxeval compares. After a restart, mirror sends what is missing. It only reads
    the runs folder.

    Args:
      to: the tracker. W&B runs are written offline, for `wandb sync`.
      at: folder, or MLflow's tracking URI (default: ./tensorboard, else the tracker's default).
      follow: keep sending until no process trains, or until Ctrl-C.

    Examples:
      jaxeval mirror runs --to tensorboard
      jaxeval mirror runs --to mlflow --at sqlite:///mlflow.db --follow

    Raises:
      ConfigError: the tracker's package is missing. RunError: it failed, or there are no runs.
    """
    from jaxeval.runs import following

    target = f"{to} at {at}" if at else to
    then = "; the same command continues from there"
    passing = (JaxevalError, ModuleNotFoundError)
    try:
        with (
            contextlib.closing(following.Following(runs)) as followed,
            parsing(f"{target} failed", runs, None, RunError, passing, then),
            contextlib.closing(_Mirror(followed, _TARGETS[to], str(at or ""))) as mirrored,
            contextlib.suppress(*[KeyboardInterrupt] * follow),
        ):
            mirrored.send()
            # of members that have not ended the training may be resumed
            written = time.time() if mirrored.opened else followed.begun
            while follow and (followed.trained or time.time() - written < _QUIET):
                time.sleep(_SECONDS)
                if followed.poll():
                    written = time.time()
                    mirrored.send()
    except ModuleNotFoundError as error:
        raise ConfigError(f"{argument('to', to)}: install jaxeval[{to}] ({error})") from None
    left = f"{len(mirrored.opened)} of which have not ended" if mirrored.opened else "all ended"
    cli.say(f"{text.counted(len(mirrored.last), 'run')}, {left}")


class _Mirror:
    """The runs of a tracker."""

    def __init__(self, followed: "following.Following", target: Any, place: str):
        self._followed, self._target, self._place = followed, target, place
        self.last: dict[tuple, int] = {}  # member -> its last epoch that was sent
        self.opened: dict[tuple, _Target] = {}  # of members that have not ended

    def close(self) -> None:
        """Leaves the runs that have not ended."""
        for run in self.opened.values():
            if not run.ended:  # else it is trained anew
                run.close()

    def send(self) -> None:
        """Sends what was written since the last call."""
        every = self._followed.experiments.values()
        names = Counter(known.name for known in every)
        for known in every:
            rows = (r for r in self._followed.members(known.id) if r.status != "paused")
            ends = {records.key(row)[1:]: row for row in rows}
            for key in dict.fromkeys([*known.epochs, *ends]):
                member = (known.id, *key)
                if member not in self.last:
                    described = _describe(known, key, names[known.name] > 1)
                    self.opened[member] = self._target(self._place, described)
                    self.last[member] = 0
                if member in self.opened:
                    self._send(self.opened[member], member, ends.get(key))

    def _send(self, run: _Target, member: tuple, end: records.MemberRow | None) -> None:
        if not run.ended:
            rows = self._followed.scores(member[0], member[1:], self.last[member])
            run.send(_missing(rows, run.sent), {})
            self.last[member] = max(rows, default=self.last[member])
        if end and not run.ended:
            scored = {"dev": end.dev, "test": end.test}
            final = {f"final/{p}/{end.metric}": x for p, x in scored.items() if x is not None}
            known = ((key, getattr(end, key)) for key in _OF_END)
            about = {key: value for key, value in known if value not in (None, "")}
            run.send(_missing({end.epochs: final}, run.sent), about)
            run.close()
        if end:
            del self.opened[member]


def _missing(rows: _Rows, sent: Collection[tuple[str, int]]) -> _Rows:
    return {
        epoch: {name: score for name, score in scores.items() if (name, epoch) not in sent}
        for epoch, scores in rows.items()
    }


def _describe(known: "following.Followed", key: tuple, ambiguous: bool) -> _Member:
    """Returns a member's run; `ambiguous`: another experiment has its name."""
    seed, split, repeat, hparams = key
    whole = hashlib.blake2b(repr((known.id, *key)).encode(), digest_size=8).hexdigest()
    parts = [f"seed{seed}"] + [f"{k}{n}" for k, n in (("split", split), ("repeat", repeat)) if n]
    parts += [whole] * (hparams != "{}")
    model = f"{known.name} ({known.id[:8]})" if ambiguous else known.name
    changed = json.loads(hparams)
    leaves = {**dict(records.leaves(json.loads(known.config))), **changed}
    plain = {
        k: v if isinstance(v, str | int | float) else json.dumps(v) for k, v in leaves.items()
    }
    about = ("metric", "unit", "higher_is_better")
    config = plain | {name: getattr(known, name) for name in about}
    config |= {"model": f"{model} {hparams}" if changed else model, "dataset": known.data}
    config |= {"seed": seed, "split": split, "repeat": repeat}
    return _Member(f"{known.name}-{known.id[:8]}", "-".join(parts), whole, config)
