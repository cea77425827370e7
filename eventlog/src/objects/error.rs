//! Why an object was not loaded, or not unloaded.

use super::check::CheckError;
use super::object::Object;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why an object was not loaded. It is not mapped, and not in the list.
///
/// ```
/// use ghc_eventlog::objects::{LoadError, LoadOptions, Objects};
///
/// // SAFETY: there is no such file.
/// let missing = unsafe { Objects::new().load("/no/such/object.so", LoadOptions::new()) };
/// assert!(matches!(missing, Err(LoadError::Io { .. })));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be read, or memory for its copy cannot be had.
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its file tells that it does not fit. No code of it has run.
    Check {
        /// The file.
        path: PathBuf,
        /// Why.
        source: CheckError,
    },
    /// The dynamic linker refuses it: a library that it needs or a symbol is missing, for example.
    Linker {
        /// The file.
        path: PathBuf,
        /// What the dynamic linker says.
        message: String,
    },
    /// Its table in memory is not what its note promises.
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// It is loaded from that path already, or has registered itself; the dynamic linker gives the same library
    /// again. Load [a copy](super::LoadOptions::direct).
    AlreadyLoaded {
        /// The file.
        path: PathBuf,
    },
    /// Its `init` has refused; it was unloaded again.
    Init {
        /// The file.
        path: PathBuf,
        /// What its `init` has returned.
        code: i32,
    },
    /// There are no numbers left: four billion cost centres or objects have been loaded.
    NumbersSpent {
        /// The file.
        path: PathBuf,
    },
    /// The call comes from a constructor or destructor of a library that is being opened or closed by this
    /// thread's loader.
    WithinConstructor {
        /// The file.
        path: PathBuf,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match self {
            LoadError::Io { path, .. }
            | LoadError::Check { path, .. }
            | LoadError::Linker { path, .. }
            | LoadError::Table { path, .. }
            | LoadError::AlreadyLoaded { path }
            | LoadError::Init { path, .. }
            | LoadError::NumbersSpent { path }
            | LoadError::WithinConstructor { path } => path.display(),
        };
        write!(f, "{path}: ")?;
        match self {
            LoadError::Io { .. } => f.write_str("it cannot be read into memory"),
            LoadError::Check { .. } => f.write_str("this program does not load it"),
            LoadError::Linker { message, .. } => {
                write!(f, "the dynamic linker refuses it: {message}")
            }
            LoadError::Table { what, .. } => write!(f, "its table is wrong: {what}"),
            LoadError::AlreadyLoaded { .. } => f.write_str("it is loaded from there already"),
            LoadError::Init { code, .. } => write!(f, "its init has refused with {code}"),
            LoadError::NumbersSpent { .. } => {
                f.write_str("there are no numbers left for its cost centres")
            }
            LoadError::WithinConstructor { .. } => {
                f.write_str("it cannot be loaded by a constructor of another")
            }
        }
    }
}

impl Error for LoadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            LoadError::Io { source, .. } => Some(source),
            LoadError::Check { source, .. } => Some(source),
            LoadError::Linker { .. }
            | LoadError::Table { .. }
            | LoadError::AlreadyLoaded { .. }
            | LoadError::Init { .. }
            | LoadError::NumbersSpent { .. }
            | LoadError::WithinConstructor { .. } => None,
        }
    }
}

/// An object was not unloaded, since it is in use. It is as it was before, and can be called.
///
/// ```
/// use ghc_eventlog::objects::{Busy, BusyReason, Object, Unload};
/// use std::time::Duration;
///
/// fn unload(object: Object) -> Unload {
///     let mut object = object;
///     loop {
///         match object.unload(Duration::from_secs(1)) {
///             Ok(outcome) => return outcome,
///             Err(Busy { reason, object: back, .. }) => {
///                 eprintln!("{}: {reason}", back.name());
///                 object = back;
///             }
///         }
///     }
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Busy {
    /// What uses it.
    pub reason: BusyReason,
    /// The object.
    pub object: Object,
}

/// What uses an object.
///
/// ```
/// use ghc_eventlog::objects::BusyReason;
///
/// assert_eq!(BusyReason::Calls(2).to_string(), "2 calls to it are open");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BusyReason {
    /// So many calls have not returned.
    Calls(u64),
    /// A thread is within one of its cost centres, or may be: its stack is deeper than can be told.
    CostCentres,
    /// Another thread is unloading it.
    Unloading,
    /// The call comes from a constructor or destructor of a library that is being opened or closed by this
    /// thread's loader.
    WithinConstructor,
}

impl fmt::Display for BusyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BusyReason::Calls(1) => f.write_str("a call to it is open"),
            BusyReason::Calls(count) => write!(f, "{count} calls to it are open"),
            BusyReason::CostCentres => f.write_str("a thread is within one of its cost centres"),
            BusyReason::Unloading => f.write_str("another thread is unloading it"),
            BusyReason::WithinConstructor => {
                f.write_str("it cannot be unloaded by a constructor or destructor of a library")
            }
        }
    }
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "object {} is in use: {}",
            self.object.name(),
            self.reason
        )
    }
}

impl Error for Busy {}
