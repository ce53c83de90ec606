//! Kernels of Penstock: image, gather, permutation and random numbers, in pure Rust.
//!
//! No Python here: the binding is `penstock-py`. Every kernel has a slow twin in `python/penstock/kernels/reference.py`.
//! Bytes from outside give an error, never a panic.

pub mod gather;
pub mod permute;
pub mod philox;
