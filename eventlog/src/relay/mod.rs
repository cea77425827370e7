//! What GHC's run-time system hands to its event log writer, made into one valid log.
//!
//! The run-time system calls its writer with whole buffers. Strung together those are not always a
//! log: a restart writes the header again, the end marker may come before the end, and a buffer
//! after one that was refused has no block marker. A [`Mender`] takes the writes one by one and
//! gives the blocks to pass on; a [`Relay`] does that and hands the blocks through a ring to a
//! thread that writes them to a sink; a [`CaptureReader`] reads writes that were recorded.
//!
//! Here nothing is known of what the log is for, and nothing is emitted.
//!
//! ```
//! use ghc_eventlog::format::{BlockMarker, CapNo, Event, Header};
//! use ghc_eventlog::relay::Relay;
//!
//! let event = Event::UserMessage { text: "hello" };
//! let size = (BlockMarker::LEN + event.encoded_len()) as u32;
//! let mut block = BlockMarker { begin: 1, size, end: 3, cap: CapNo::new(0) }.encode().to_vec();
//! event.encode_to_vec(2, &mut block);
//!
//! let mut relay = Relay::builder().start(std::io::sink())?;
//! relay.write(&Header::standard().encode())?;
//! relay.write(&block)?;
//! // A restart: the header comes again, and one is enough.
//! relay.write(&Header::standard().encode())?;
//! relay.write(&block)?;
//! let statistics = relay.finish()?;
//! assert_eq!(statistics.mends.repeated_headers, 1);
//! assert_eq!(statistics.mends.blocks, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

mod capture;
mod error;
mod evidence;
mod mender;
mod mends;
mod pieces;
mod pipe;

pub use capture::{CaptureError, CaptureErrorKind, CaptureReader, MAX_WRITE_LEN};
pub use error::{FinishError, SetAside, SetAsideReason, SinkError, StartError, WriteError};
pub use mender::Mender;
pub use mends::Mends;
pub use pieces::{Piece, Pieces};
pub use pipe::{Builder, DEFAULT_BLOCK_LIMIT, Relay, Statistics};
