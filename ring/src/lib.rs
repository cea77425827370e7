#![no_std]
#![doc = include_str!("../README.md")]

extern crate alloc;

mod builder;
mod chunk;
mod control;
mod counted;
mod error;
mod owned;
mod pool;
mod primitive;
pub mod spsc;

pub use builder::Builder;
pub use control::Control;
pub use error::{BuildError, PopError, PushError, ReserveError, ResizeError, TakeError};
pub use owned::{IntoIter, OwnedChunk};
pub use pool::{Pool, Source};
