"""The search for a kernel's fastest config: it chooses the next config and keeps the results."""

from __future__ import annotations

import os
import random
import warnings
from pathlib import Path
from typing import Any

import filelock

from mmcore.errors import MmcoreError
from mmcore.files import read_lines
from mmcore_tools.tune.space import SearchSpace

try:
    import optuna
    from optuna.distributions import CategoricalDistribution, IntDistribution
    from optuna.trial import Trial, TrialState
except ImportError:
    raise MmcoreError("tuning needs Optuna: python -m pip install 'mmcore-cuda[tune]'") from None

_CONFIG = "config"  # the trial's attribute that has the config's id
_WRONG = "wrong"  # the trial's attribute that has the config's failure
_STARTUP = 4, 12  # limits of the number of random trials before the sampler decides, which is a 16th of the configs
_CLIMBED = 3  # the number of fastest configs whose neighbours are tried
_REPEATED = 6  # times in a row that the sampler may propose a config that was tried or cannot be launched


def storage(where: str, folder: Path) -> Any:
    """Return Optuna's storage: a database by its URL, or a journal, by default in ``folder``. Raises MmcoreError."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    path = Path(where) if where else folder / "studies.log"
    try:
        if "://" in where:
            return optuna.storages.RDBStorage(where)
        path.parent.mkdir(parents=True, exist_ok=True)
        # This lock ends with its process. Optuna's own locks remain when the process is killed.
        lock = filelock.FileLock(f"{path}.held")
        with lock:
            _cut_off_unfinished(path)
        return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path), lock))
    except Exception as error:
        raise MmcoreError(f"the storage {where or path} cannot be opened: {error}") from None


def _cut_off_unfinished(path: Path) -> None:
    """Remove the unfinished last line that a killed process left in a journal."""
    line, size = b"\n", 0
    for line in read_lines(path) if path.exists() else ():
        size += len(line)
    if not line.endswith(b"\n"):
        os.truncate(path, size - len(line))


class Search:
    """A search as a study of Optuna's, which continues the study with its name in the storage.

    ``seconds`` has the kernel time of each measured config, by id; None if the config failed. ``wrong`` has a sentence
    about each that failed. ``before`` is the number of configs that earlier runs measured.
    """

    def __init__(self, name: str, space: SearchSpace, studies: Any, seed: int | None = None) -> None:
        self.space = space
        self._random = random.Random(seed)
        self._startup = min(max(_STARTUP[0], len(space.configs) // 16), _STARTUP[1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(
                seed=seed, multivariate=True, constant_liar=True, n_startup_trials=self._startup
            )
        self._study = optuna.create_study(study_name=name, storage=studies, sampler=sampler, load_if_exists=True)
        # The sampler sees an ordered parameter as a position, so that it learns from neighbouring values.
        self._ordered = {name for name, values in space.parameters.items() if isinstance(values[-1], int | float)}
        self._distributions = {
            name: IntDistribution(0, len(values) - 1) if name in self._ordered else CategoricalDistribution(values)
            for name, values in space.parameters.items()
        }
        self._pending: set[str] = set()
        self._steps = False
        self.seconds: dict[str, float | None] = {}
        self.wrong: dict[str, str] = {}
        for trial in self._study.get_trials(deepcopy=False):
            id = trial.user_attrs.get(_CONFIG)
            if id in space.configs and trial.state in (TrialState.COMPLETE, TrialState.FAIL):
                self.seconds[id] = trial.value if trial.state == TrialState.COMPLETE else None
                if why := trial.user_attrs.get(_WRONG):
                    self.wrong[id] = why
            elif trial.state == TrialState.RUNNING:  # its run was interrupted
                self._study.tell(trial.number, state=TrialState.PRUNED, skip_if_finished=True)
        self.before = len(self.seconds)
        # A config in the file must be measured before it is replaced. One tuned for another product is often fast.
        self._due, self._first = (
            [id for id in dict.fromkeys(several) if id not in self.seconds]
            for several in (space.written, [*space.usual, *space.known])
        )

    @property
    def best(self) -> list[str]:
        """The measured configs, the fastest first."""
        measured = {id: seconds for id, seconds in self.seconds.items() if seconds is not None}
        return sorted(measured, key=lambda id: measured[id])

    @property
    def due(self) -> bool:
        """True while the config that the result would replace has not been tried; it is tried even without a budget."""
        return bool(self._due)

    @property
    def left(self) -> int:
        """The number of configs that have not been tried."""
        return len(self.space.configs) - len(self.seconds) - len(self._pending)

    def ask(self) -> tuple[Trial, str] | None:
        """Return the next trial and the id of its config, which has not been tried; None if all have been tried."""
        for first in (self._due, self._first):
            while first:
                if (one := first.pop(0)) not in self.seconds and one not in self._pending:
                    return self._fixed(one)
        # Every other trial is a neighbour of the fastest so far, which the sampler alone would find by chance only.
        self._steps = not self._steps
        if self._steps and len(self.seconds) >= self._startup and (near := self._near()):
            return self._fixed(near)
        for _ in range(_REPEATED):
            if not self.left:
                return None
            trial = self._ask()
            ordered, values = self._ordered, self.space.parameters
            id = self.space.at({name: values[name][at] if name in ordered else at for name, at in trial.params.items()})
            if id is not None and id not in self.seconds and id not in self._pending:
                return self._begun(trial, id)
            known = None if id is None else self.seconds.get(id)
            state = TrialState.PRUNED if known is None else TrialState.COMPLETE
            self._study.tell(trial, known, state=state)
        return self._fixed(self._near() or self._anywhere())

    def tell(self, trial: Trial, seconds: float | None, wrong: str = "", *, late: bool = False) -> None:
        """Store the result of a trial: its seconds, or None if its config is ``wrong`` or could not be measured.

        A config that was ``late``, beyond its time limit, is tried again by the next run, whose limit may be longer.
        """
        id = trial.user_attrs[_CONFIG]
        self._pending.discard(id)
        self.seconds[id] = seconds
        if wrong:
            self.wrong[id] = wrong
            trial.set_user_attr(_WRONG, wrong)
        state = TrialState.COMPLETE if seconds is not None else TrialState.PRUNED if late else TrialState.FAIL
        # Another process that tunes the same on another card may have ended it as an interrupted trial.
        self._study.tell(trial, seconds, state=state, skip_if_finished=True)

    def withdraw(self, id: str, wrong: str, *, late: bool) -> None:
        """Store that a config, right in its trial, turned out to be wrong or ``late``."""
        trial, _ = self._fixed(id)
        self.tell(trial, None, wrong, late=late)

    def _near(self) -> str | None:
        """Return an untried neighbour of one of the fastest configs; None if all have been tried."""
        tried = self.seconds.keys() | self._pending
        several = (near for id in self.best[:_CLIMBED] for near in self.space.neighbours(id))
        return next((near for near in several if near not in tried), None)

    def _anywhere(self) -> str:
        return self._random.choice([id for id in self.space.configs if id not in self.seconds.keys() | self._pending])

    def _fixed(self, id: str) -> tuple[Trial, str]:
        places = {
            name: self.space.parameters[name].index(value) if name in self._ordered else value
            for name, value in self.space.point(id).items()
        }
        self._study.enqueue_trial(places)
        return self._begun(self._ask(), id)

    def _ask(self) -> Trial:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._study.ask(self._distributions)

    def _begun(self, trial: Trial, id: str) -> tuple[Trial, str]:
        trial.set_user_attr(_CONFIG, id)
        self._pending.add(id)
        return trial, id
