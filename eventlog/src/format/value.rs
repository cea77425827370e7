//! The numbers that events carry: ids and codes. Only numbers that readers accept exist.

use core::fmt;

use super::error::EventErrorKind;
use super::wire::{Reader, Sink, Wire};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($int:ty);)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $int);

        impl<'a> Wire<'a> for $name {
            const MIN: usize = size_of::<$int>();

            #[inline(always)]
            fn put<S: Sink>(self, out: &mut S) {
                self.0.put(out);
            }

            #[inline(always)]
            fn get(input: &mut Reader<'a>) -> Result<Self, EventErrorKind> {
                Ok(Self(<$int>::get(input)?))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )* };
}

ids! {
    /// A lightweight thread.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::format::ThreadId(7).to_string(), "7");
    /// ```
    ThreadId(u32);
    /// A set of capabilities: a process, a clock domain, or one of the program's own making.
    ///
    /// ```
    /// use ghc_eventlog::format::CapsetId;
    /// assert_eq!(CapsetId::OS_PROCESS, CapsetId(0));
    /// assert_eq!(CapsetId::CLOCK_DOMAIN, CapsetId(1));
    /// ```
    CapsetId(u32);
    /// An operating-system thread, as the run-time system numbers it.
    ///
    /// ```
    /// assert!(ghc_eventlog::format::TaskId(1) < ghc_eventlog::format::TaskId(2));
    /// ```
    TaskId(u64);
    /// An operating-system thread, as the kernel numbers it.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::format::KernelThreadId(4711).0, 4711);
    /// ```
    KernelThreadId(u64);
    /// The flags of a cost centre's definition.
    ///
    /// ```
    /// use ghc_eventlog::format::CostCentreFlags;
    /// assert!(CostCentreFlags::CAF.is_caf());
    /// assert!(!CostCentreFlags(0).is_caf());
    /// ```
    CostCentreFlags(u8);
}

impl CapsetId {
    /// The set that GHC makes for the process. Heap events name it as their heap.
    pub const OS_PROCESS: Self = Self(0);
    /// The set that GHC makes for the clock that all capabilities share.
    pub const CLOCK_DOMAIN: Self = Self(1);
}

impl CostCentreFlags {
    /// The cost centre is that of a constant (a CAF).
    pub const CAF: Self = Self(1);

    /// Whether the cost centre is that of a constant (a CAF).
    #[must_use]
    pub const fn is_caf(self) -> bool {
        self.0 & Self::CAF.0 != 0
    }
}

/// A capability: one of the run-time system's processors, or whatever a program takes for one.
///
/// 0xffff stands for "no capability" in a block marker and therefore is no `CapNo`.
///
/// ```
/// use ghc_eventlog::format::CapNo;
///
/// assert_eq!(CapNo::new(3).unwrap().get(), 3);
/// assert_eq!(CapNo::new(0xffff), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CapNo(u16);

impl CapNo {
    /// The capability of that number; `None` for 0xffff.
    #[must_use]
    #[inline]
    pub const fn new(number: u16) -> Option<Self> {
        if number == u16::MAX {
            None
        } else {
            Some(Self(number))
        }
    }

    /// The number, below 0xffff.
    #[must_use]
    #[inline]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for CapNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'a> Wire<'a> for CapNo {
    const MIN: usize = 2;

    #[inline(always)]
    fn put<S: Sink>(self, out: &mut S) {
        self.0.put(out);
    }

    #[inline(always)]
    fn get(input: &mut Reader<'a>) -> Result<Self, EventErrorKind> {
        let number = u16::get(input)?;
        Self::new(number).ok_or(EventErrorKind::Value {
            field: "capability",
            value: u64::from(number),
        })
    }
}

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident as $int:ty, $field:literal {
        $($(#[$variant_doc:meta])* $variant:ident = $code:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name {
            $($(#[$variant_doc])* $variant = $code,)*
        }

        impl $name {
            /// Every value, by code.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The value of that code; `None` if readers do not know the code.
            #[must_use]
            #[inline]
            pub const fn from_code(code: $int) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The code in the log.
            #[must_use]
            #[inline]
            pub const fn code(self) -> $int {
                self as $int
            }
        }

        impl<'a> Wire<'a> for $name {
            const MIN: usize = size_of::<$int>();

            #[inline(always)]
            fn put<S: Sink>(self, out: &mut S) {
                self.code().put(out);
            }

            #[inline(always)]
            fn get(input: &mut Reader<'a>) -> Result<Self, EventErrorKind> {
                let code = <$int>::get(input)?;
                Self::from_code(code)
                    .ok_or(EventErrorKind::Value { field: $field, value: u64::from(code) })
            }
        }
    };
}

codes! {
    /// What a capability set stands for.
    ///
    /// ```
    /// use ghc_eventlog::format::CapsetType;
    /// assert_eq!(CapsetType::OsProcess.code(), 2);
    /// assert_eq!(CapsetType::from_code(4), None);
    /// ```
    CapsetType as u16, "capability set type" {
        /// A set of the program's own making.
        Custom = 1,
        /// An operating-system process.
        OsProcess = 2,
        /// Capabilities whose time stamps come from one clock.
        ClockDomain = 3,
    }
}

codes! {
    /// Why a thread stopped.
    ///
    /// Only the codes that every reader accepts exist: `ghc-events` aborts on others.
    ///
    /// ```
    /// use ghc_eventlog::format::StopStatus;
    /// assert_eq!(StopStatus::BlockedOnMVar.code(), 7);
    /// assert_eq!(StopStatus::from_code(17), None);
    /// ```
    StopStatus as u16, "stop status" {
        /// The heap was used up: a garbage collection is due.
        HeapOverflow = 1,
        /// The stack was used up. The event's `info` is its size.
        StackOverflow = 2,
        /// The time slice is over.
        Yielding = 3,
        /// The thread is done.
        Finished = 5,
        /// The thread makes a foreign call.
        ForeignCall = 6,
        /// Waits to put into or take from an `MVar`.
        BlockedOnMVar = 7,
        /// Waits for a value that another thread computes. The event's `info` is that thread.
        BlockedOnBlackHole = 8,
        /// Waits to read from a file descriptor.
        BlockedOnRead = 9,
        /// Waits to write to a file descriptor.
        BlockedOnWrite = 10,
        /// Waits for a point in time.
        BlockedOnDelay = 11,
        /// Waits for a transactional variable to change.
        BlockedOnStm = 12,
        /// Waits for an asynchronous system call (Windows).
        BlockedOnDoProc = 13,
        /// Waits for an exception that it throws to be received.
        BlockedOnMsgThrowTo = 18,
        /// Waits to read an `MVar` without taking from it.
        BlockedOnMVarRead = 20,
    }
}

codes! {
    /// What the samples of a heap profile are grouped by.
    ///
    /// ```
    /// use ghc_eventlog::format::HeapBreakdown;
    /// assert_eq!(HeapBreakdown::ClosureType.code(), 7);
    /// assert_eq!(HeapBreakdown::from_code(0), None);
    /// ```
    HeapBreakdown as u32, "heap profile breakdown" {
        /// Cost-centre stack (`-hc`).
        CostCentre = 1,
        /// Module (`-hm`).
        Module = 2,
        /// Closure description (`-hd`).
        ClosureDescription = 3,
        /// Type (`-hy`).
        TypeDescription = 4,
        /// Retainer set (`-hr`).
        Retainer = 5,
        /// Biography (`-hb`).
        Biography = 6,
        /// Closure type (`-hT`).
        ClosureType = 7,
        /// Info table (`-hi`), GHC 9.2.
        InfoTable = 8,
        /// Era (`-he`), GHC 9.10.
        Era = 9,
    }
}

/// Why events are missing from a log.
///
/// A code that this version does not know is [`Unknown`](Self::Unknown), so that logs of newer
/// versions can be read; only the decoder makes one.
///
/// ```
/// use ghc_eventlog::format::LossCause;
///
/// assert_eq!(LossCause::Overwritten.code(), 2);
/// assert_eq!(LossCause::from_code(2), LossCause::Overwritten);
/// let newer = LossCause::from_code(200);
/// assert!(matches!(newer, LossCause::Unknown { code: 200, .. }));
/// assert_eq!(newer.to_string(), "cause 200");
/// assert_eq!(LossCause::Full.to_string(), "buffer full");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum LossCause {
    /// The buffer was full when they were emitted.
    Full,
    /// Newer events were written over them, as the buffer's policy says.
    Overwritten,
    /// The sink did not take the block that held them.
    Sink,
    /// They were emitted after the log was stopped.
    Stopped,
    /// They are longer than the buffer takes.
    TooLarge,
    /// Another reason, whose code is that of none above.
    #[non_exhaustive]
    Unknown {
        /// The code in the log.
        code: u8,
    },
}

impl LossCause {
    /// Every cause known, by code.
    pub const ALL: &'static [Self] = &[
        Self::Full,
        Self::Overwritten,
        Self::Sink,
        Self::Stopped,
        Self::TooLarge,
    ];

    /// The cause of that code.
    #[must_use]
    #[inline]
    pub const fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Full,
            2 => Self::Overwritten,
            3 => Self::Sink,
            4 => Self::Stopped,
            5 => Self::TooLarge,
            _ => Self::Unknown { code },
        }
    }

    /// The code in the log.
    #[must_use]
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Full => 1,
            Self::Overwritten => 2,
            Self::Sink => 3,
            Self::Stopped => 4,
            Self::TooLarge => 5,
            Self::Unknown { code } => code,
        }
    }
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "buffer full",
            Self::Overwritten => "overwritten",
            Self::Sink => "not taken by the sink",
            Self::Stopped => "log stopped",
            Self::TooLarge => "too large",
            Self::Unknown { code } => return write!(f, "cause {code}"),
        })
    }
}

impl<'a> Wire<'a> for LossCause {
    const MIN: usize = 1;

    #[inline(always)]
    fn put<S: Sink>(self, out: &mut S) {
        self.code().put(out);
    }

    #[inline(always)]
    fn get(input: &mut Reader<'a>) -> Result<Self, EventErrorKind> {
        Ok(Self::from_code(u8::get(input)?))
    }
}
