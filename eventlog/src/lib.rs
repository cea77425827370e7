//! GHC event logs.

pub mod format;
