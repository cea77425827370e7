//! GHC event logs.

mod buffer;
mod capability;
mod clock;
mod collector;
mod error;
pub mod format;
mod log;
mod registry;
pub mod relay;
mod shared_buffer;
mod signals;
mod sink;
mod statistics;

pub use capability::Capability;
pub use clock::Clock;
pub use error::{CapabilityError, EmitError, StartError, StopError};
pub use log::{Builder, EventLog};
pub use statistics::{BufferStatistics, Lost, Statistics};
