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
pub mod mpsc;
mod owned;
mod policy;
mod pool;
mod primitive;
mod settings;
pub mod spsc;
mod statistics;

pub use builder::Builder;
pub use control::Control;
pub use error::{
    BuildError, PopError, PushError, ReserveError, ResizeError, TakeError, TooFewItems,
};
pub use owned::{IntoIter, OwnedChunk};
pub use policy::Policy;
pub use pool::{Pool, Source};
pub use statistics::Statistics;
