//! Bytes by `std::io`.

use super::consumer::Consumer;
use super::producer::Producer;
use crate::error::PopError;

/// Bytes are written as far as they fit.
///
/// Where none fits the error is of the kind [`WouldBlock`](std::io::ErrorKind::WouldBlock), and
/// [`BrokenPipe`](std::io::ErrorKind::BrokenPipe) where the consumer is gone. What is written is
/// visible at once, so flushing does nothing.
///
/// ```
/// use std::io::Write;
///
/// let (mut producer, mut consumer) = chunkring::Builder::new(16, 2).mpsc()?;
/// write!(producer, "{} + {}", 1, 2)?;
/// assert_eq!(*consumer.read()?, *b"1 + 2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl std::io::Write for Producer<u8> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.push_partial_slice(bytes) {
            0 if !bytes.is_empty() => Err(if self.is_closed() {
                std::io::ErrorKind::BrokenPipe.into()
            } else {
                std::io::ErrorKind::WouldBlock.into()
            }),
            count => Ok(count),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Bytes are read as far as there are any.
///
/// Where there is none the error is of the kind [`WouldBlock`](std::io::ErrorKind::WouldBlock); once
/// the producers are gone and everything has been read, it is the end of the file.
///
/// ```
/// use std::io::{Read, Write};
///
/// let (mut producer, mut consumer) = chunkring::Builder::new(16, 2).mpsc()?;
/// producer.write_all(b"hello")?;
/// drop(producer);
/// let mut text = String::new();
/// consumer.read_to_string(&mut text)?;
/// assert_eq!(text, "hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl std::io::Read for Consumer<u8> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        // Looked at first: only that tells an empty ring from a closed one.
        match Consumer::read(self).map(drop) {
            Ok(()) => Ok(self.pop_partial_slice(out)),
            Err(PopError::Closed) => Ok(0),
            Err(PopError::Empty) => Err(std::io::ErrorKind::WouldBlock.into()),
        }
    }
}
