"""Steps on texts become one pass over the rows of a block: lower, split, look up, with no object made for a word.

A run of them is fused where each reads what the one before gave and nobody else does; one alone too, as a block of
texts then crosses into the kernel once. Which steps may follow each other is known by what a row holds: one text, a row
of words, numbers. The fused step gives what the single steps give, row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.errors import PenstockError
from penstock.ops import text, words
from penstock.ops.fused import FUSED_TEXTS, FusedTexts
from penstock.ops.program import Program, Ref, Step
from penstock.ops.text_steps import NUMBERS, TextStep
from penstock.optimize.programs.rewriting import only_reader, renumbered

_STEPS: dict[str, Callable[..., TextStep]] = {
    "text.lower": text.lower_step,
    "text.upper": text.upper_step,
    "text.strip": text.strip_step,
    "text.regex_replace": text.regex_replace_step,
    "text.split": text.split_step,
    "text.join": text.join_step,
    "text.length": text.length_step,
    "words.remove_stop_words": words.remove_stop_words_step,
    "words.ngrams": words.ngrams_step,
    "words.lookup": words.lookup_step,
    "words.hash_bucket": words.hash_bucket_step,
}


def fuse_texts(program: Program) -> Program:
    """The program with every run of steps on texts fused; the same object when it has none."""
    number = len(program.steps) - 1
    while number >= 0:  # from the end: what is fused is the whole of a run
        steps, places = _run_to(program, number)
        if steps:
            program = _replaced(program, places, number, steps)
        number -= max(1, len(places))
    return program


def _run_to(program: Program, number: int) -> tuple[tuple[TextStep, ...], list[int]]:
    """The run that ends with step `number`: its steps, and their numbers from the first on."""
    places: list[int] = []
    steps: list[TextStep] = []
    while True:
        step = program.steps[number]
        made = _text_step(step)
        if made is None or (steps and made.name in NUMBERS):
            break
        steps.insert(0, made)
        places.insert(0, number)
        source = step.args[0].index - program.inputs
        if source < 0 or only_reader(program, source) != number:
            break
        number = source
    return tuple(steps), places


def _text_step(step: Step) -> TextStep | None:
    make = _STEPS.get(step.op)
    if make is None or not step.args or not isinstance(step.args[0], Ref) or len(step.references()) != 1:
        return None
    if any(isinstance(value, Ref) for value in step.args[1:]):
        return None
    try:
        return make(*step.args[1:], **dict(step.kwargs))
    except PenstockError:
        return None  # the op itself says it, on a row


def _replaced(program: Program, places: list[int], last: int, steps: tuple[TextStep, ...]) -> Program:
    source = program.steps[places[0]].args[0]
    fused = Step(FUSED_TEXTS, (source, FusedTexts(steps)), dtype=program.steps[last].dtype)
    changed = tuple(fused if number == last else step for number, step in enumerate(program.steps))
    gone = set(places[:-1])
    kept = [number for number in range(len(changed)) if number not in gone]
    return renumbered(replace(program, steps=changed), kept)
