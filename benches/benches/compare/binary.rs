//! A subscriber for `tracing` that encodes events into the thread's own memory and forgets them when that is full: about
//! the least that one can do which keeps what an event says. It knows of no spans.

use ghc_eventlog::Clock;
use std::cell::{Cell, RefCell};
use std::fmt::{self, Write};
use std::sync::Once;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

/// Bytes after which everything is forgotten.
const FORGOTTEN_AFTER: usize = 1 << 16;

thread_local! {
    static ENCODED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static EVENTS: Cell<u64> = const { Cell::new(0) };
}

/// Events that this thread has encoded.
pub(crate) fn events() -> u64 {
    EVENTS.get()
}

pub(crate) struct Binary {
    clock: Clock,
}

impl Binary {
    /// Makes it the process's subscriber. Where it is already, does nothing.
    pub(crate) fn install() {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            let clock = Clock::new();
            tracing::subscriber::set_global_default(Binary { clock }).expect("there is no other");
        });
    }
}

/// An event is its time (8 bytes), its callsite (8) and its length (2), then its fields.
impl Subscriber for Binary {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::always()
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        ENCODED.with_borrow_mut(|encoded| {
            if encoded.len() >= FORGOTTEN_AFTER {
                encoded.clear();
            }
            let start = encoded.len();
            let callsite: *const Metadata<'_> = event.metadata();
            encoded.extend_from_slice(&self.clock.now().to_le_bytes());
            encoded.extend_from_slice(&(callsite as usize as u64).to_le_bytes());
            encoded.extend_from_slice(&[0; 2]);
            event.record(&mut Fields(encoded));
            let len = ((encoded.len() - start) as u16).to_le_bytes();
            encoded[start + 16..][..2].copy_from_slice(&len);
        });
        EVENTS.set(EVENTS.get() + 1);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Numbers as they are, everything else as text.
struct Fields<'a>(&'a mut Vec<u8>);

impl Visit for Fields<'_> {
    fn record_u64(&mut self, _: &Field, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn record_i64(&mut self, _: &Field, value: i64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn record_str(&mut self, _: &Field, value: &str) {
        self.0.extend_from_slice(value.as_bytes());
    }

    fn record_debug(&mut self, _: &Field, value: &dyn fmt::Debug) {
        // What a failing `Debug` has written counts.
        let _ = write!(self, "{value:?}");
    }
}

impl fmt::Write for Fields<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}
