//! GHC event logs.
