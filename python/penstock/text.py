"""Texts and words: the public face, with the names of tf.strings where it has the thing."""

from penstock.ops.text import join, length, lower, regex_replace, split, strip, upper
from penstock.ops.vocabulary import Vocabulary
from penstock.ops.words import hash_bucket, lookup, ngrams, pad, remove_stop_words, tokenize

__all__ = [
    "Vocabulary",
    "hash_bucket",
    "join",
    "length",
    "lookup",
    "lower",
    "ngrams",
    "pad",
    "regex_replace",
    "remove_stop_words",
    "split",
    "strip",
    "tokenize",
    "upper",
]
