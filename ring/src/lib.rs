//! A lock-free ring of recycled chunks.
