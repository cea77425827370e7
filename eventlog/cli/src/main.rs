//! The `eventlog` command.

fn main() {}
