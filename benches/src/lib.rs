//! The benches are in `benches/`. Here only the examples of READMEs are tested.

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../../eventlog/README.md")]
mod eventlog_readme {}
