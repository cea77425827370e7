//! What objects look for, offered to the dynamic linker where the program does not export it.
//!
//! An executable exports nothing by itself. So a library is made in memory, of nothing but a table of symbols
//! whose values are the addresses here, and opened for all. It is mapped once for each process, and stays.

use super::attach::{evl_object_attach, evl_object_detach, evl_way_prof_abi1};
use super::image::Image;
use super::linker::{self, Failure, Library};
use std::ffi::{CStr, OsStr};
use std::io;
use std::sync::{Mutex, PoisonError};

/// Names and addresses.
fn symbols() -> [(&'static CStr, usize); 3] {
    [
        (
            c"evl_way_prof_abi1",
            (&raw const evl_way_prof_abi1).expose_provenance(),
        ),
        (
            c"evl_object_attach",
            (evl_object_attach as *const ()).expose_provenance(),
        ),
        (
            c"evl_object_detach",
            (evl_object_detach as *const ()).expose_provenance(),
        ),
    ]
}

/// Names of those that this host has for objects.
pub(super) fn names() -> [&'static str; 3] {
    symbols().map(|(name, _)| name.to_str().unwrap_or_default())
}

/// Those that the dynamic linker does not find, or finds in another host within this process.
fn missing() -> Vec<String> {
    let is_ours = |&(name, address): &(&CStr, usize)| {
        linker::address_of(name).is_some_and(|found| found.addr().get() == address)
    };
    let missing = symbols().into_iter().filter(|symbol| !is_ours(symbol));
    missing
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect()
}

/// Sees to it that objects find this host.
///
/// # Errors
/// The names that they do not find.
pub(super) fn offer() -> Result<(), Vec<String>> {
    /// The library's memory, which must stay: its name is the file descriptor's. A failure may pass, where it is of
    /// descriptors, so it is tried again.
    static OFFERED: Mutex<Option<Image>> = Mutex::new(None);

    if missing().is_empty() {
        return Ok(());
    }
    {
        let mut offered = OFFERED.lock().unwrap_or_else(PoisonError::into_inner);
        if offered.is_none() {
            *offered = open().ok();
        }
    }
    match missing() {
        missing if missing.is_empty() => Ok(()),
        missing => Err(missing),
    }
}

fn open() -> io::Result<Image> {
    let image = Image::new(OsStr::new("exports"), &library(&symbols()))?;
    // SAFETY: it holds a table and no code.
    match unsafe { Library::open_for_all(&image.path()) } {
        Ok(_) => Ok(image),
        Err(Failure(message)) => Err(io::Error::other(message)),
    }
}

/// A library for the dynamic linker: one segment with everything in it, the dynamic section, and the wish for a stack
/// that holds no code.
fn library(symbols: &[(&CStr, usize)]) -> Vec<u8> {
    const HEADER: u64 = 64;
    const SEGMENT: u64 = 56;
    const SYMBOL: u64 = 24;
    const SEGMENTS: u64 = HEADER;
    const SYMBOLS: u64 = SEGMENTS + 3 * SEGMENT;
    let count = symbols.len() as u64 + 1;
    let hash = SYMBOLS + count * SYMBOL;
    let strings = hash + 4 * (2 + 1 + count);
    let names: Vec<u8> = symbols
        .iter()
        .flat_map(|(name, _)| name.to_bytes_with_nul())
        .copied()
        .collect();
    let dynamic = (strings + 1 + names.len() as u64).next_multiple_of(8);
    let entries = [
        (object::elf::DT_HASH, hash),
        (object::elf::DT_STRTAB, strings),
        (object::elf::DT_SYMTAB, SYMBOLS),
        (object::elf::DT_STRSZ, 1 + names.len() as u64),
        (object::elf::DT_SYMENT, SYMBOL),
        (object::elf::DT_NULL, 0),
    ];
    let size = dynamic + 16 * entries.len() as u64;

    let mut out = b"\x7fELF\x02\x01\x01".to_vec();
    out.resize(16, 0);
    let half = |out: &mut Vec<u8>, values: &[u16]| {
        values
            .iter()
            .for_each(|value| out.extend(value.to_le_bytes()));
    };
    let word = |out: &mut Vec<u8>, values: &[u32]| {
        values
            .iter()
            .for_each(|value| out.extend(value.to_le_bytes()));
    };
    let long = |out: &mut Vec<u8>, values: &[u64]| {
        values
            .iter()
            .for_each(|value| out.extend(value.to_le_bytes()));
    };
    half(&mut out, &[object::elf::ET_DYN.0, super::elf::MACHINE.0]);
    word(&mut out, &[1]);
    long(&mut out, &[0, SEGMENTS, 0]);
    word(&mut out, &[0]);
    half(&mut out, &[HEADER as u16, SEGMENT as u16, 3, 64, 0, 0]);

    // Read and write: some versions of the dynamic linker write into the dynamic section.
    word(&mut out, &[object::elf::PT_LOAD.0, 6]);
    long(&mut out, &[0, 0, 0, size, size, 4096]);
    word(&mut out, &[object::elf::PT_DYNAMIC.0, 6]);
    let length = size - dynamic;
    long(&mut out, &[dynamic, dynamic, dynamic, length, length, 8]);
    word(&mut out, &[object::elf::PT_GNU_STACK.0, 6]);
    long(&mut out, &[0, 0, 0, 0, 0, 16]);

    long(&mut out, &[0, 0, 0]);
    let mut name = 1;
    for (text, address) in symbols {
        word(&mut out, &[name]);
        name += text.to_bytes_with_nul().len() as u32;
        // Global, of no type, and absolute: the address of the library is not added.
        half(&mut out, &[0x10, object::elf::SHN_ABS.0]);
        long(&mut out, &[*address as u64, 0]);
    }
    // One bucket, whose chain is all symbols.
    let chain = (1..count as u32).map(|index| {
        if index + 1 == count as u32 {
            0
        } else {
            index + 1
        }
    });
    word(&mut out, &[1, count as u32, 1, 0]);
    word(&mut out, &chain.collect::<Vec<u32>>());
    out.push(0);
    out.extend(names);
    out.resize(dynamic as usize, 0);
    for (tag, value) in entries {
        long(&mut out, &[tag.0 as u64, value]);
    }
    out
}
