//! GHC's eventlog format: every event type, encoded and decoded without allocation.
//!
//! Here is what bytes mean and nothing else: no threads, no files, no clocks.
//!
//! A log is a [`Header`], then [blocks](BlockMarker) of [`Event`]s, then the [`END_MARKER`]. All
//! times are nanoseconds since the program's start; all numbers in the log are big-endian.
//!
//! Writing: [`Header::encode`], [`BlockMarker::encode`], [`Event::encode`] ([`Encode`] for any event).
//! Reading: a [`Decoder`] for a stream that comes in any pieces, [`events`] for the body of one block
//! in memory, [`EventsByTime`] for the order of time, in which logs do not lie; all give a
//! [`RawEvent`], whose fields are decoded on demand.
//!
//! A program may declare events of its own: a [`UserEventType`] gives them a name and named fields,
//! which travel in the header, so that any reader of this library has them as [`Decoded::User`].
//!
//! Of events GHC writes no more, of those that are reserved for other systems and of new ones the
//! decoder gives the payload: see [`Decoded::Other`].
#![deny(unsafe_code)]

mod block;
mod by_time;
mod decode;
mod encode;
mod error;
mod event;
mod event_type;
mod frame;
mod header;
mod layout;
mod list;
mod profile;
mod raw;
mod schema;
mod text;
mod user_event;
mod user_type;
mod value;
mod walk;
mod wire;

pub use block::{BLOCK_MARKER, BlockMarker, END_MARKER};
pub use by_time::{ByTimeError, EventsByTime};
pub use decode::{Decoder, Record};
pub use encode::Encode;
pub(crate) use encode::sealed::Origin;
pub use error::{DecodeError, DecodeErrorKind, EventError, EventErrorKind, Gap, HeaderError};
pub(crate) use event::EVENTS_LOST;
pub use event::{Event, FIXED_HEAD, MAX_PAYLOAD, VARIABLE_HEAD};
pub use event_type::{EventSize, EventType};
pub use header::{Header, MAX_HEADER_LEN};
pub use list::{CostCentreStack, CostCentreStackIter, Strings, StringsIter};
pub use profile::{HeapProfFilter, TickyInfo};
pub use raw::{Decoded, RawEvent};
pub use schema::{Field, FieldType};
pub use text::{NulError, ZStr};
pub use user_event::{UserEvent, UserEventError, UserFields, Value};
pub use user_type::{LIBRARY_IDS, USER_EVENT_IDS, UserEventType, UserTypeBuilder, UserTypeError};
pub use value::{
    CapNo, CapsetId, CapsetType, CostCentreFlags, HeapBreakdown, KernelThreadId, LossCause,
    StopStatus, TaskId, ThreadId,
};
pub(crate) use walk::events_at;
pub use walk::{Events, events};
