#![no_std]
#![doc = include_str!("../README.md")]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod builder;
mod chunk;
mod control;
mod counted;
mod error;
mod owned;
mod pool;
mod primitive;
mod settings;
pub mod spsc;

pub use builder::Builder;
pub use control::Control;
pub use error::{
    BuildError, PopError, PushError, ReserveError, ResizeError, TakeError, TooFewItems,
};
pub use owned::{IntoIter, OwnedChunk};
pub use pool::{Pool, Source};
