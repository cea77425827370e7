//! The benches are in `benches/`. Here only the examples of the workspace's README are tested.

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}
