//! What became of an object that was to be unloaded.

use std::fmt;

/// An object that is unloaded: out of the list, and no call to it is possible any more.
///
/// ```
/// use ghc_eventlog::objects::{PinReason, Unload};
///
/// let pinned = Unload::Pinned(vec![PinReason::NoDelete]);
/// assert_eq!(pinned.to_string(), "still mapped: it is linked with -z nodelete");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unload {
    /// It is mapped no more, as the dynamic linker has been asked.
    Unmapped,
    /// It is still mapped, so code of it that something holds, such as a destructor, does no harm. These are the
    /// reasons that can be: what the object has in it that keeps it, and what was found to hold it.
    Pinned(Vec<PinReason>),
}

impl fmt::Display for Unload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unload::Unmapped => f.write_str("unmapped"),
            Unload::Pinned(reasons) => {
                f.write_str("still mapped")?;
                for (index, reason) in reasons.iter().enumerate() {
                    write!(f, "{}{reason}", if index == 0 { ": " } else { "; " })?;
                }
                Ok(())
            }
        }
    }
}

/// What keeps an object mapped.
///
/// ```
/// use ghc_eventlog::objects::PinReason;
///
/// let reason = PinReason::SignalHandler(15);
/// assert_eq!(reason.to_string(), "the handler of signal 15 is code of it");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PinReason {
    /// It is linked with `-z nodelete`.
    NoDelete,
    /// It has a symbol that is unique in the process, as C++ makes for a static variable of an inline function.
    /// The dynamic linker never unmaps such a library.
    UniqueSymbol(String),
    /// It has thread locals with destructors. It stays mapped while a thread lives that has touched one, until
    /// the first library that is closed after that.
    ThreadLocals,
    /// It makes thread-specific keys by the function of that name, which goes past the program, so those whose
    /// destructors are code of it are not known. It was not closed, since the next thread that ends could call
    /// into nothing.
    ThreadKeys(String),
    /// It has left the handler of that signal behind. It was not closed.
    SignalHandler(i32),
    /// Somebody else has opened it as well, or another library needs it.
    OpenElsewhere,
}

impl fmt::Display for PinReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PinReason::NoDelete => f.write_str("it is linked with -z nodelete"),
            PinReason::UniqueSymbol(name) => write!(f, "it has the unique symbol {name}"),
            PinReason::ThreadLocals => f.write_str("it has thread locals with destructors"),
            PinReason::ThreadKeys(by) => write!(f, "it makes thread-specific keys by {by}"),
            PinReason::SignalHandler(signal) => {
                write!(f, "the handler of signal {signal} is code of it")
            }
            PinReason::OpenElsewhere => {
                f.write_str("somebody else has opened it, or another library needs it")
            }
        }
    }
}
