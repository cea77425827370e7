//! Text of events, formatted into memory that the thread uses again and again.

use super::thread;
use crate::format::MAX_PAYLOAD;
use std::fmt;

/// Bytes that a text has room for before it allocates again.
const FIRST_CAPACITY: usize = 256;

/// A text in the making. What exceeds the format's limit is cut off between two characters.
pub(super) struct Text {
    text: String,
    is_cut: bool,
}

impl Text {
    /// Lets `fill` write a text, and hands it to `emit`. Between the two, nothing is borrowed that an
    /// event within `fill` would need.
    pub(super) fn make(fill: impl FnOnce(&mut Text), emit: impl FnOnce(&str)) {
        let mut text = Text {
            text: thread::take_text(),
            is_cut: false,
        };
        if text.text.capacity() == 0 {
            text.text.reserve(FIRST_CAPACITY);
        }
        fill(&mut text);
        emit(&text.text);
        thread::keep_text(text.text);
    }

    #[inline]
    pub(super) fn push(&mut self, piece: &str) {
        if piece.len() <= MAX_PAYLOAD - self.text.len() && !self.is_cut {
            self.text.push_str(piece);
        } else {
            self.push_cut(piece);
        }
    }

    #[cold]
    fn push_cut(&mut self, piece: &str) {
        if self.is_cut {
            return;
        }
        self.is_cut = true;
        self.text
            .push_str(cut(piece, MAX_PAYLOAD - self.text.len()));
    }
}

impl fmt::Write for Text {
    #[inline]
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        // Never an error: an implementation of `Display` need not expect one.
        self.push(piece);
        Ok(())
    }
}

/// The longest beginning of `text` of at most `len` bytes that ends between two characters.
pub(super) fn cut(text: &str, len: usize) -> &str {
    if text.len() <= len {
        return text;
    }
    let mut end = len;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
