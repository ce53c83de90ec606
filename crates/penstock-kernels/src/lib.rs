//! Kernels of Penstock: image, text, gather, permutation and random numbers, in pure Rust.
//!
//! No Python here: the binding is `penstock-py`. Each kernel has a slow twin in `python/penstock/kernels/reference.py`.
//! Bytes from outside give an error, never a panic.

pub mod bitmap;
pub mod example;
pub mod exif;
pub mod fault;
pub mod file;
pub mod fused;
pub mod gather;
pub mod image;
pub mod jpeg;
pub mod meter;
pub mod pack;
pub mod packed;
pub mod permute;
pub mod philox;
pub mod pieces;
pub mod png;
pub mod ragged;
pub mod record;
pub mod resize;
mod simd;
pub mod stream;
pub mod text;
pub mod tone;
