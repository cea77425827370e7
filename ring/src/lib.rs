#![no_std]
#![doc = include_str!("../README.md")]

extern crate alloc;

mod builder;
mod chunk;
mod error;
mod primitive;
pub mod spsc;

pub use builder::Builder;
pub use error::{BuildError, PopError, PushError, ReserveError};
