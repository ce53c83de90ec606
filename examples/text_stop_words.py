"""Lines of text become numbers, without stop words: `python examples/text_stop_words.py`.

As in TensorFlow's "Load text", a model tells which book a line is from; here, which chapter of the manual that comes
with Python. Any KERAS_BACKEND. Needs `pip install "penstock[text]"`. Beside each line that is more than a changed
import stands what it was.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from pydoc_data.topics import topics

import keras
import numpy as np

import penstock as ps
from penstock import text

CHAPTERS = ("debugger", "formatstrings", "compound")
LENGTH, WORDS, HELD_OUT = 12, 500, 192


def to_words(line):
    line = text.regex_replace(text.lower(line), "[[:punct:]]", " ")
    # line = tf.strings.regex_replace(tf.strings.lower(line), "[[:punct:]]", " ")
    return text.remove_stop_words(text.split(line), "english")  # tf.py_function: TensorFlow has no op


def labelled_lines(folder: Path) -> ps.Dataset:
    """(words, number of the chapter) of each line of three words or more, shuffled."""
    labelled = []
    for number, chapter in enumerate(CHAPTERS):
        (folder / chapter).write_text(topics[chapter], encoding="utf-8")
        lines = ps.TextLineDataset(str(folder / chapter), encoding="utf-8")
        labelled.append(lines.map(lambda line, number=number: (to_words(line), np.int64(number))))
    lines = labelled[0].concatenate(labelled[1]).concatenate(labelled[2])
    lines = lines.filter(lambda words, chapter: len(words) >= 3)
    return lines.shuffle(10_000, reshuffle_each_iteration=False).cache()


def main() -> dict[str, list[float]]:
    """Train, and return what `fit` noted of each epoch."""
    with tempfile.TemporaryDirectory() as scratch:
        lines = labelled_lines(Path(scratch))
        counts = Counter(word for words, _ in lines.skip(HELD_OUT) for word in words)
        known = text.Vocabulary(["<pad>", "<other>", *(word for word, _ in counts.most_common(WORDS - 2))])
        # known = tf.lookup.StaticVocabularyTable(...)

        def to_ids(words, chapter):
            return text.pad(text.lookup(words, known, oov=1), LENGTH), chapter

        dataset = lines.map(to_ids, num_parallel_calls=ps.AUTOTUNE)
        validation = dataset.take(HELD_OUT).batch(32).prefetch(ps.AUTOTUNE)
        training = dataset.skip(HELD_OUT).shuffle(10_000).batch(32, drop_remainder=True).prefetch(ps.AUTOTUNE)
        model = keras.Sequential(
            [
                keras.Input((LENGTH,), dtype="int32"),
                keras.layers.Embedding(WORDS, 16),
                keras.layers.GlobalAveragePooling1D(),
                keras.layers.Dense(len(CHAPTERS)),
            ]
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(0.03), loss, metrics=["accuracy"])
        history = model.fit(training.to_keras(), validation_data=validation.to_keras(), epochs=5, verbose=2).history
        # history = model.fit(training, validation_data=validation, epochs=5, verbose=2).history
    print(f"{sum(counts.values())} words, validation accuracy {history['val_accuracy'][-1]:.0%}")
    return history


if __name__ == "__main__":
    main()
