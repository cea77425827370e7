//! What GHC's run-time system hands to its event log writer, made into one valid log.
//!
//! The run-time system calls its writer with whole buffers. Strung together those are not always a
//! log: a restart writes the header again, the end marker may come before the end, and a buffer
//! after one that was refused has no block marker. A [`Mender`] takes the writes one by one and
//! gives the blocks to pass on; [`Builder::relayed`](crate::Builder::relayed) starts a log whose collector does
//! that, whatever the log is used for; a [`CaptureReader`] reads writes that were recorded.
//!
//! ```
//! use ghc_eventlog::format::{BlockMarker, CapNo, Event, Header};
//! use ghc_eventlog::{EventLog, Sink};
//!
//! let event = Event::UserMessage { text: "hello" };
//! let size = (BlockMarker::LEN + event.encoded_len()) as u32;
//! let mut block = BlockMarker { begin: 1, size, end: 3, cap: CapNo::new(0) }.encode().to_vec();
//! event.encode_to_vec(2, &mut block);
//!
//! let header = Header::standard();
//! let (log, writer) = EventLog::builder().relayed(Sink::null(), header)?;
//! writer.write(&header.encode())?;
//! writer.write(&block)?;
//! // A restart: the header comes again, and one is enough.
//! writer.write(&header.encode())?;
//! writer.write(&block)?;
//! let mends = log.stop()?.relay.unwrap().mends;
//! assert_eq!(mends.repeated_headers, 1);
//! assert_eq!(mends.blocks, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

mod capture;
mod error;
mod evidence;
mod mender;
mod mends;
mod pieces;

pub use crate::relayed::RelayStatistics;
pub use capture::{CaptureError, CaptureErrorKind, CaptureReader, MAX_WRITE_LEN};
pub use error::{SetAside, SetAsideReason};
pub use mender::{Mender, header_of};
pub use mends::Mends;
pub(crate) use pieces::Content;
pub use pieces::{Piece, Pieces};
