//! What can be written into a log's buffer: GHC's events and a program's own, by one interface.

use core::mem::MaybeUninit;

use super::event::Event;
use super::user_event::UserEvent;

pub(crate) mod sealed {
    use crate::format::{Event, UserEvent};

    /// Only types of this module may promise to initialise what they are given.
    pub trait Sealed {
        /// Which of them it is.
        fn origin(&self) -> Origin<'_>;
    }

    /// An event, by who has made its type.
    #[derive(Debug)]
    pub enum Origin<'e> {
        /// GHC or this library: every log declares it.
        Known(&'e Event<'e>),
        /// A program: a log declares it or not.
        User(&'e UserEvent<'e>),
    }

    impl Sealed for Event<'_> {
        #[inline(always)]
        fn origin(&self) -> Origin<'_> {
            Origin::Known(self)
        }
    }

    impl Sealed for UserEvent<'_> {
        #[inline(always)]
        fn origin(&self) -> Origin<'_> {
            Origin::User(self)
        }
    }
}

/// An event that can be encoded: an [`Event`] or a [`UserEvent`].
///
/// No other type has it, since whoever calls [`encode`](Self::encode) may rely on what it says about
/// the memory that it initialises.
///
/// ```
/// use ghc_eventlog::format::{Encode, Event, UserEventType};
///
/// fn total(events: &[&dyn Encode]) -> usize {
///     events.iter().map(|event| event.encoded_len()).sum()
/// }
/// let tick = UserEventType::builder(0, "tick").build()?;
/// assert_eq!(total(&[&Event::GcStart, &tick.event(&[])?]), 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Encode: sealed::Sealed {
    /// The number of the event's type.
    fn id(&self) -> u16;

    /// Bytes that the event takes in a log. At most 65,547; the same at every call.
    fn encoded_len(&self) -> usize;

    /// Writes the event to the start of `out`. Initialises and returns exactly
    /// [`encoded_len`](Self::encoded_len) bytes.
    ///
    /// # Panics
    /// If `out` is shorter than that. Nothing is written then.
    fn encode(&self, time_ns: u64, out: &mut [MaybeUninit<u8>]) -> usize;

    /// Appends the event, as [`encode`](Self::encode) writes it, and returns its length in bytes.
    fn encode_to_vec(&self, time_ns: u64, out: &mut Vec<u8>) -> usize;
}

macro_rules! encode {
    ($($ty:ident)*) => { $(
        impl Encode for $ty<'_> {
            #[inline(always)]
            fn id(&self) -> u16 {
                $ty::id(self)
            }

            #[inline(always)]
            fn encoded_len(&self) -> usize {
                $ty::encoded_len(self)
            }

            #[inline(always)]
            fn encode(&self, time_ns: u64, out: &mut [MaybeUninit<u8>]) -> usize {
                $ty::encode(self, time_ns, out)
            }

            #[inline]
            fn encode_to_vec(&self, time_ns: u64, out: &mut Vec<u8>) -> usize {
                $ty::encode_to_vec(self, time_ns, out)
            }
        }
    )* };
}

encode!(Event UserEvent);
