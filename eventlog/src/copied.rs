//! Events that the collector has copied out of the shared buffer, how far they have come out, and the memory that they
//! lie in.

/// Looks at the memory from one decision about it to the next: a collector that is kept busy allocates seldom, and one
/// that is idle has given back after some passes what a burst took.
const TURNS: u32 = 64;

/// Events in order, those included that tell of losses.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    bytes: Vec<u8>,
    /// Whether there may be one among them that is to be looked at.
    tracked: bool,
    /// Bytes of them that have come out.
    done: usize,
    /// Bytes that have ever come out.
    position: u64,
    /// The most bytes that there have been since the last decision about the memory, and the looks at it since.
    most: usize,
    turns: u32,
}

impl Copied {
    /// What has not come out yet.
    pub(crate) fn left(&self) -> &[u8] {
        &self.bytes[self.done..]
    }

    pub(crate) fn is_tracked(&self) -> bool {
        self.tracked
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Where all of it will have come out.
    pub(crate) fn end(&self) -> u64 {
        self.position + self.left().len() as u64
    }

    /// Takes the first `count` bytes out.
    pub(crate) fn take_out(&mut self, count: usize) {
        self.done += count;
        self.position += count as u64;
    }

    /// Forgets what has come out, before more is put behind the rest. Memory that has not been needed for a while goes
    /// back.
    pub(crate) fn forget_done(&mut self) {
        self.most = self.most.max(self.bytes.len());
        self.turns += 1;
        self.bytes.drain(..std::mem::take(&mut self.done));
        if self.bytes.is_empty() {
            self.tracked = false;
        }
        if self.turns >= TURNS {
            // Twice as much as is needed is what a vector takes that grows.
            if self.bytes.capacity() > 2 * self.most {
                self.bytes.shrink_to(self.most);
            }
            self.most = 0;
            self.turns = 0;
        }
    }

    /// Puts an event behind the others.
    pub(crate) fn push(&mut self, event: &[u8], tracked: bool) {
        self.bytes.extend_from_slice(event);
        self.tracked |= tracked;
    }

    /// All of it, of which only the end may be changed that has not come out.
    pub(crate) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put_and_take(copied: &mut Copied, bytes: usize) {
        copied.forget_done();
        copied.push(&vec![1; bytes], false);
        copied.take_out(bytes);
    }

    #[test]
    fn what_comes_out_is_what_was_put_in() {
        let mut copied = Copied::default();
        copied.push(b"abc", false);
        copied.push(b"def", true);
        assert!(copied.is_tracked());
        copied.take_out(2);
        assert_eq!(
            (copied.left(), copied.position(), copied.end()),
            (&b"cdef"[..], 2, 6)
        );
        copied.forget_done();
        assert!(copied.is_tracked(), "it is still there");
        copied.push(b"g", false);
        assert_eq!((copied.left(), copied.end()), (&b"cdefg"[..], 7));
        copied.take_out(5);
        copied.forget_done();
        assert_eq!((copied.left(), copied.end()), (&b""[..], 7));
        assert!(!copied.is_tracked());
    }

    #[test]
    fn the_memory_of_a_burst_goes_back_and_that_of_the_usual_load_stays() {
        let mut copied = Copied::default();
        put_and_take(&mut copied, 1 << 20);
        for _ in 0..2 * TURNS {
            put_and_take(&mut copied, 1000);
        }
        assert!((1000..4000).contains(&copied.bytes.capacity()));
        let usual = copied.bytes.as_ptr();
        for turn in 0..4 * TURNS {
            // Most looks find nothing.
            put_and_take(&mut copied, if turn % 8 == 0 { 900 } else { 0 });
        }
        assert_eq!(copied.bytes.as_ptr(), usual, "it was allocated anew");
        for _ in 0..2 * TURNS {
            copied.forget_done();
        }
        assert_eq!(copied.bytes.capacity(), 0);
    }

    #[test]
    fn what_has_not_come_out_is_kept_when_memory_goes_back() {
        let mut copied = Copied::default();
        put_and_take(&mut copied, 1 << 20);
        copied.forget_done();
        copied.push(b"stays", true);
        for _ in 0..3 * TURNS {
            copied.forget_done();
        }
        assert_eq!(copied.left(), b"stays");
        assert!(copied.bytes.capacity() < 100);
    }
}
