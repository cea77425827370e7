//! That the structures and numbers of `eventlog.h` are those of the library: the C compiler is asked.

use crate::code::Code;
use crate::config::{CPolicy, Config};
use crate::log::LogObject;
use crate::object::Id;
use crate::objects::{
    CCostCentre, CObjectInfo, CObjectsStatistics, CProfilerOptions, CProfilerStatistics,
};
use crate::reader::Options;
use crate::statistics::{CBufferStatistics, CLost, CReaderStatistics, CStatistics};
use crate::user_type::{CField, CValue, Content};
use std::ffi::c_int;
use std::fmt::Write as _;
use std::io::Write as _;
use std::mem::offset_of;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Adds assertions about a structure: `type as "name in C": field, field as "its name in C"`.
macro_rules! layout {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    ($out:ident, $ty:ty as $c:literal: $($field:ident $(as $name:literal)?),*) => {{
        assert_size(&mut $out, $c, size_of::<$ty>(), align_of::<$ty>());
        let mut last = 0;
        $(
            let name = layout!(@name $field $($name)?);
            let at = offset_of!($ty, $field);
            writeln!($out, "A(offsetof({}, {name}) == {at}, \"{} {name}\");", $c, $c).unwrap();
            assert!(at >= last);
            last = at;
        )*
        let _ = last;
    }};
}

fn assert_size(out: &mut String, name: &str, size: usize, align: usize) {
    writeln!(out, "A(sizeof({name}) == {size}, \"{name}\");").unwrap();
    writeln!(out, "A(_Alignof({name}) == {align}, \"{name}\");").unwrap();
}

/// `TooLarge` as `TOO_LARGE`.
fn shouted(name: &str) -> String {
    let mut out = String::new();
    for (at, char) in name.char_indices() {
        if at > 0 && char.is_uppercase() {
            out.push('_');
        }
        out.push(char.to_ascii_uppercase());
    }
    out
}

#[test]
fn structures_and_numbers_are_those_of_the_header() {
    let mut out = String::from("#include \"eventlog.h\"\n#define A _Static_assert\n");
    layout!(out, CPolicy as "evl_policy": kind, reserved, value);
    layout!(out, Config as "evl_config": size, buffer_bytes, flush_interval_ns, policy, sticky_bytes,
        sink_backlog_bytes, arguments, types, arguments_len, types_len);
    layout!(out, Options as "evl_attach_options": size, queue_bytes, linger_ns, readers);
    layout!(out, CLost as "evl_lost": full, overwritten, stopped, sink, undeclared);
    layout!(out, CStatistics as "evl_statistics": size, elapsed_ns, events, blocks, bytes_written,
        sink_errors, sticky_bytes, sticky_refused, lost, capabilities, readers, reader_lost_events);
    layout!(out, CBufferStatistics as "evl_buffer_statistics": size, events, bytes, blocks, buffer_bytes,
        memory_bytes, lost);
    layout!(out, CReaderStatistics as "evl_reader_statistics": size, blocks, bytes_written, queued_bytes,
        lost_events, lost_bytes, has_failed);
    layout!(out, CObjectInfo as "evl_object_info": size, name, path, needed, pins, number, way, abi_major,
        abi_minor, cost_centres, constructors, memory_bytes, registers_itself);
    layout!(out, CCostCentre as "evl_cost_centre_info": size, label, module, srcloc, object_name, id, flags,
        object);
    layout!(out, CObjectsStatistics as "evl_objects_statistics": size, objects, cost_centres, undefined,
        live_bytes, live_stacks, live_others);
    layout!(out, CProfilerOptions as "evl_profiler_options": size, tick_ns, has_heap, heap_ns);
    layout!(out, CProfilerStatistics as "evl_profiler_statistics": size, ticks, late, stacks, missed, lost,
        heap_samples, heap_failures);
    layout!(out, CField as "evl_field": name, ty as "type", reserved);
    layout!(out, CValue as "evl_value": ty as "type", reserved, of as "as");
    let (bytes, len) = (offset_of!(CValue, of), size_of::<usize>());
    writeln!(
        out,
        "A(offsetof(evl_value, as.bytes.data) == {bytes}, \"data\");"
    )
    .unwrap();
    writeln!(
        out,
        "A(offsetof(evl_value, as.bytes.len) == {}, \"len\");",
        bytes + len
    )
    .unwrap();
    writeln!(
        out,
        "A(sizeof(((evl_value *)0)->as) == {}, \"as\");",
        size_of::<Content>()
    )
    .unwrap();
    for handle in [
        "log",
        "capability",
        "sink",
        "type",
        "chunk",
        "reader",
        "listener",
        "sticky",
        "object_file",
        "loaded",
        "call",
        "cost_centres",
        "profiler",
    ] {
        type Handle = Id<Arc<LogObject>>;
        assert_size(
            &mut out,
            &format!("evl_{handle}"),
            size_of::<Handle>(),
            align_of::<Handle>(),
        );
    }
    for (name, number) in Code::ALL {
        let prefix = match name {
            &"Ok" | &"Empty" | &"Finished" => "EVL",
            _ => "EVL_ERR",
        };
        writeln!(
            out,
            "A({prefix}_{} == {number}, \"{name}\");",
            shouted(name)
        )
        .unwrap();
    }
    writeln!(out, "A(sizeof(int) == {}, \"int\");", size_of::<c_int>()).unwrap();

    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    let compiling = Command::new(&compiler)
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            "-I",
            include,
            "-x",
            "c",
            "-",
        ])
        .stdin(Stdio::piped())
        .spawn();
    let mut compiling = compiling.unwrap_or_else(|error| {
        panic!("this test needs a C compiler, and {compiler:?} (CC names another) does not run: {error}")
    });
    let mut input = compiling.stdin.take().unwrap();
    input.write_all(out.as_bytes()).unwrap();
    drop(input);
    assert!(compiling.wait().unwrap().success(), "{out}");
}
