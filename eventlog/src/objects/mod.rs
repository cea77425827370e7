//! Profiled objects: shared libraries that are loaded, profiled and unloaded while the program runs.

mod attach;
mod check;
mod elf;
mod error;
mod image;
mod keys;
mod linker;
mod loader;
mod object;
mod records;
mod registry;
pub mod stack;
mod unload;

pub use attach::{evl_object_attach, evl_object_detach};
pub use check::{CheckError, FileCostCentre, HostExports, ObjectInfo, inspect};
pub use error::{Busy, BusyReason, LoadError};
pub use loader::{LoadOptions, Objects};
pub use object::{Entered, Object, Symbol, SymbolError};
pub use registry::{
    CostCentreInfo, CostCentres, ObjectCostCentres, ObjectId, Registry, Sampling, registry,
};
pub use unload::{PinReason, Unload};
