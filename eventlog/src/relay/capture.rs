//! Writes that were recorded in a file. Nothing here knows what is in them.

use core::fmt;
use std::io::{self, Read};

/// The longest write that a capture may hold, 64 MiB: far more than a run-time system's buffer.
pub const MAX_WRITE_LEN: u32 = 64 << 20;

const LEN_FIELD: u64 = 4;

/// Reads a capture: every write as its length, four bytes big-endian, and its bytes.
///
/// Memory is taken as bytes come, not as a length promises, and used again for the next write.
///
/// ```
/// use ghc_eventlog::relay::CaptureReader;
///
/// let mut capture = CaptureReader::new(&b"\0\0\0\x02\xff\xff\0\0\0\0"[..]);
/// assert_eq!(capture.next_write()?, Some(&[0xff, 0xff][..]));
/// assert_eq!(capture.next_write()?, Some(&[][..]));
/// assert_eq!(capture.next_write()?, None);
/// # Ok::<(), ghc_eventlog::relay::CaptureError>(())
/// ```
#[derive(Debug)]
pub struct CaptureReader<R> {
    input: R,
    offset: u64,
    write: Vec<u8>,
}

impl<R: Read> CaptureReader<R> {
    /// A reader for a capture from its first byte on. Each write takes two calls of
    /// [`Read::read`] at least.
    #[must_use]
    pub const fn new(input: R) -> Self {
        Self {
            input,
            offset: 0,
            write: Vec::new(),
        }
    }

    /// Bytes read so far: where the next write starts, or what the last error is about.
    ///
    /// ```
    /// let capture = ghc_eventlog::relay::CaptureReader::new(std::io::empty());
    /// assert_eq!(capture.offset(), 0);
    /// ```
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The next write; `None` at the end of the capture.
    ///
    /// # Errors
    /// If the capture ends within a write, a length is absurd, or reading fails. What comes after
    /// such an error means nothing.
    pub fn next_write(&mut self) -> Result<Option<&[u8]>, CaptureError> {
        let offset = self.offset;
        let fault = |kind| CaptureError { offset, kind };
        self.fill(LEN_FIELD).map_err(|error| fault(error.into()))?;
        let field = match self.write.first_chunk::<4>() {
            Some(field) => *field,
            None if self.write.is_empty() => return Ok(None),
            None => {
                return Err(fault(CaptureErrorKind::Truncated {
                    len: LEN_FIELD,
                    present: self.write.len() as u64,
                }));
            }
        };
        if offset == 0 && field == *b"hdrb" {
            return Err(fault(CaptureErrorKind::Log));
        }
        let len = u32::from_be_bytes(field);
        if len > MAX_WRITE_LEN {
            return Err(fault(CaptureErrorKind::TooLong { len }));
        }
        self.fill(u64::from(len))
            .map_err(|error| fault(error.into()))?;
        if self.write.len() < len as usize {
            return Err(fault(CaptureErrorKind::Truncated {
                len: LEN_FIELD + u64::from(len),
                present: LEN_FIELD + self.write.len() as u64,
            }));
        }
        self.offset += LEN_FIELD + u64::from(len);
        Ok(Some(&self.write))
    }

    /// Reads as many bytes, or as there are, to `write`.
    fn fill(&mut self, len: u64) -> io::Result<()> {
        self.write.clear();
        self.input.by_ref().take(len).read_to_end(&mut self.write)?;
        Ok(())
    }
}

/// A capture cannot be read on.
///
/// ```
/// use ghc_eventlog::relay::CaptureReader;
///
/// let error = CaptureReader::new(&b"\0\0\0\x09end"[..]).next_write().unwrap_err();
/// assert_eq!(error.offset, 0);
/// assert_eq!(error.to_string(), "byte 0: cut after 7 of 13 bytes of a write and its length");
/// ```
#[derive(Debug)]
pub struct CaptureError {
    /// Where the write starts that cannot be read, in bytes from the start of the capture. There its
    /// length lies.
    pub offset: u64,
    /// What is wrong with it.
    pub kind: CaptureErrorKind,
}

/// The ways in which a capture can be unreadable.
///
/// ```
/// use ghc_eventlog::relay::CaptureErrorKind;
///
/// let kind = CaptureErrorKind::TooLong { len: 0x8000_0000 };
/// assert_eq!(kind.to_string(), "write of 2147483648 bytes, the limit is 67108864");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum CaptureErrorKind {
    /// The capture ends within a write.
    Truncated {
        /// Bytes that the write should take, its length field included.
        len: u64,
        /// Bytes that are there.
        present: u64,
    },
    /// No run-time system makes such a write, so that this is no length.
    TooLong {
        /// What would be its length, in bytes.
        len: u32,
    },
    /// This is an event log, not a capture of the writes that make one.
    Log,
    /// Reading fails.
    Io(io::Error),
}

impl From<io::Error> for CaptureErrorKind {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for CaptureErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { len, present } => write!(
                f,
                "cut after {present} of {len} bytes of a write and its length"
            ),
            Self::TooLong { len } => {
                write!(f, "write of {len} bytes, the limit is {MAX_WRITE_LEN}")
            }
            Self::Log => f.write_str("this is an eventlog, not a capture of writes"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.kind)
    }
}

impl core::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.kind {
            CaptureErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}
