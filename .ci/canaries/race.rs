//! Two races that ThreadSanitizer must report: a plain one, and one inside a `Drop` that an `Arc` runs.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::thread;

struct Shared(UnsafeCell<u64>);

// SAFETY: none; this is the defect.
unsafe impl Sync for Shared {}

impl Shared {
    fn bump(&self) {
        // SAFETY: none; this is the defect.
        unsafe { *self.0.get() += 1 }
    }
}

struct BumpsOnDrop(Arc<Shared>);

impl Drop for BumpsOnDrop {
    fn drop(&mut self) {
        self.0.bump();
    }
}

fn plain_race() {
    let shared = Arc::new(Shared(UnsafeCell::new(0)));
    let other = thread::spawn({
        let shared = Arc::clone(&shared);
        move || shared.bump()
    });
    shared.bump();
    other.join().unwrap();
}

fn race_in_drop() {
    let shared = Arc::new(Shared(UnsafeCell::new(0)));
    let last = Arc::new(BumpsOnDrop(Arc::clone(&shared)));
    let other = thread::spawn(move || drop(last));
    shared.bump();
    other.join().unwrap();
}

fn main() {
    // Detection depends on the schedule; a hundred tries do not miss it.
    for _ in 0..100 {
        match std::env::args().nth(1).as_deref() {
            Some("plain") => plain_race(),
            Some("drop") => race_in_drop(),
            _ => panic!("plain or drop?"),
        }
    }
}
