//! Profiled objects: shared libraries that are loaded, profiled and unloaded while the program runs.

mod attach;
mod records;
mod registry;
pub mod stack;

pub use attach::{evl_object_attach, evl_object_detach};
pub use registry::{
    CostCentreInfo, CostCentres, ObjectCostCentres, ObjectId, Registry, Sampling, registry,
};
