"""A framework as the device levers see it: facts for the plan, and a hand that takes its steps."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Protocol

from penstock.train.backend import Backend
from penstock.train.device.first_use import too_late
from penstock.train.device.steps import Facts, Step
from penstock.train.runtime import Change


class Framework(Protocol):
    """One framework, imported where it is needed."""

    def facts(self) -> Facts:
        """What is known of its devices. Initialises nothing."""
        ...

    def take(self, step: Step) -> Change:
        """Do one step. Raises: TooLateError: it is initialised, and the step would change something."""
        ...


def take_variable(
    step: Step, framework: Backend, is_initialised: bool, environment: MutableMapping[str, str]
) -> Change:
    """Set an environment variable that `framework` reads once, at its start."""
    if environment.get(step.name) == step.value:
        return already(step)
    if is_initialised:
        raise too_late(framework, step.text)
    if step.value is None:
        del environment[step.name]
    else:
        environment[step.name] = step.value
    return done(step, f"{framework} reads it once, at its start")


def done(step: Step, kept: str) -> Change:
    """The record of a step that was taken and stays."""
    return Change(lever="memory", text=step.text, why=step.why, kept=kept)


def already(step: Step) -> Change:
    """The record of a step whose end was reached before."""
    return Change(lever="memory", text=step.text, outcome="not needed", why="it is so already")
