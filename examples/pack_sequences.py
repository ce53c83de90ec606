"""Sequences of unequal length, three ways: padded, bucketed, packed. `python examples/pack_sequences.py`.

Prints how much of what a model would be given is padding, and makes an attention mask from the segments of packed rows.
"""

from __future__ import annotations

import numpy as np

import penstock as ps

LENGTH, BATCH = 256, 8


def texts(count: int = 2000) -> list[np.ndarray]:
    """Token sequences with the long tail of real texts."""
    rng = np.random.default_rng(0)
    sizes = np.clip(rng.lognormal(3.5, 1.0, count).astype(int), 1, LENGTH)
    return [rng.integers(1, 1000, size, dtype=np.int32) for size in sizes.tolist()]


def attention_mask(segment_ids: np.ndarray) -> np.ndarray:
    """[batch, length, length]: a token sees those of its own sequence, up to itself; padding sees nothing."""
    same = segment_ids[:, :, None] == segment_ids[:, None, :]
    causal = np.tril(np.ones((segment_ids.shape[1],) * 2, dtype=bool))
    return same & causal & (segment_ids[:, :, None] > 0)


def main() -> dict[str, float]:
    """The share of padding of each way."""
    sequences = texts()
    tokens = sum(map(len, sequences))
    source = ps.Dataset.from_source(sequences).shuffle(seed=0)
    ways = {
        "padded_batch": source.padded_batch(BATCH),
        "bucket_by_sequence_length": source.bucket_by_sequence_length(
            len, bucket_boundaries=[16, 32, 64, 128], bucket_batch_sizes=[BATCH] * 5
        ),
        "pack": source.pack(LENGTH).map(lambda row: row["tokens"]).batch(BATCH),
        'pack(strategy="concat")': source.pack(LENGTH, "concat").map(lambda row: row["tokens"]).batch(BATCH),
    }
    shares = {name: 1 - tokens / sum(batch.size for batch in dataset) for name, dataset in ways.items()}
    for name, share in shares.items():
        print(f"{name:28} {share:6.1%} padding")
    batch = next(iter(source.pack(LENGTH).batch(BATCH)))
    mask = attention_mask(batch["tokens_segment_ids"])
    print({name: leaf.shape for name, leaf in batch.items()}, f"mask {mask.shape}")
    return shares


if __name__ == "__main__":
    main()
