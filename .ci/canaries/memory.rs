//! Two defects that AddressSanitizer must report: a read of freed memory, and a leak.

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("freed") => {
            let freed = Box::into_raw(Box::new(7u64));
            // SAFETY: none for the read; this is the defect.
            unsafe {
                drop(Box::from_raw(freed));
                std::hint::black_box(freed.read_volatile());
            }
        }
        Some("leak") => leak(),
        _ => panic!("freed or leak?"),
    }
}

// A frame of its own, so that no register or stack slot of `main` still holds the pointer at exit.
#[inline(never)]
fn leak() {
    for _ in 0..10 {
        std::mem::forget(std::hint::black_box(Box::new([7u64; 8])));
    }
}
