#![no_std]
#![doc = include_str!("../README.md")]
// What only the ring for several producers needs, which is not there.
#![cfg_attr(not(target_has_atomic = "64"), allow(dead_code))]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod builder;
mod chunk;
mod control;
mod counted;
mod error;
#[cfg(feature = "std")]
mod event;
#[cfg(target_has_atomic = "64")]
pub mod mpsc;
mod owned;
mod policy;
mod pool;
mod primitive;
mod settings;
pub mod spsc;
mod statistics;
#[cfg(feature = "std")]
pub mod wait;

pub use builder::Builder;
pub use control::Control;
pub use error::{
    BuildError, PopError, PushError, ReserveError, ResizeError, TakeError, TooFewItems,
};
pub use owned::{IntoIter, OwnedChunk};
pub use policy::Policy;
pub use pool::{Pool, Source};
pub use statistics::Statistics;
