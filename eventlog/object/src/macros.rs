//! What an object says of itself and of its code.

/// Declares that this library is an object, by its name. It stands in one place of the library, and makes the note and
/// the table that a host looks for, and a reference to a symbol that only a host exports: an ordinary `dlopen`
/// elsewhere fails.
///
/// `init` is a function that is called once the object is loaded and its cost centres are numbered; a number
/// other than 0 has it unloaded again. `fini` is called before it is unloaded, after its last call; threads
/// that the object has started end there. `register` makes constructors and destructors that register the
/// object where no loader does: where it is linked into the program, or opened by an ordinary `dlopen`. Within that call
/// they wait for whoever in the program changes or samples the list of cost centres, and for sinks of logs that define
/// them; none of these may wait for the dynamic linker, or for a thread that opens or closes libraries.
///
/// ```
/// ghc_eventlog_object::object!("tidy", init = start, fini = stop);
///
/// extern "C" fn start() -> i32 {
///     0
/// }
/// extern "C" fn stop() {}
/// # #[unsafe(no_mangle)]
/// # static evl_way_prof_abi1: u8 = 1;
/// # fn main() {
/// # assert_eq!(start(), 0);
/// # stop();
/// # }
/// ```
#[macro_export]
macro_rules! object {
    ($name:literal, register $(, init = $init:path)? $(, fini = $fini:path)? $(,)?) => {
        $crate::object!($name $(, init = $init)? $(, fini = $fini)?);
        const _: () = {
            // By its exported name the table of another object could be found, on which this one depends.
            static OWN: $crate::Object = $crate::object!(@table $name, [$($init)?], [$($fini)?]);
            unsafe extern "C" {
                fn evl_object_attach(object: *const $crate::Object) -> u32;
                fn evl_object_detach(object: *const $crate::Object);
            }
            extern "C" fn attach() {
                // SAFETY: the table lives as long as this library, whose destructor takes it back.
                unsafe { evl_object_attach(&raw const OWN) };
            }
            extern "C" fn detach() {
                // SAFETY: destructors run when no code of this library is in use any more.
                unsafe { evl_object_detach(&raw const OWN) };
            }
            #[used]
            #[unsafe(link_section = ".init_array")]
            static ATTACH: extern "C" fn() = attach;
            #[used]
            #[unsafe(link_section = ".fini_array")]
            static DETACH: extern "C" fn() = detach;
        };
    };
    ($name:literal $(, init = $init:path)? $(, fini = $fini:path)? $(,)?) => {
        #[doc(hidden)]
        #[allow(non_upper_case_globals, reason = "the host looks for this name")]
        #[unsafe(no_mangle)]
        pub static evl_object_v1: $crate::Object =
            $crate::object!(@table $name, [$($init)?], [$($fini)?]);
        const _: () = {
            unsafe extern "C" {
                #[link_name = "evl_way_prof_abi1"]
                static WAY: u8;
            }
            #[used]
            #[unsafe(link_section = ".note.evl")]
            static NOTE: $crate::Note = $crate::Note::new($crate::WAY_PROFILED);
            #[used]
            static REQUIRE: $crate::Require = $crate::Require(&raw const WAY);
            // The section is there although the library has no cost centre.
            #[used]
            #[unsafe(link_section = "evl_cc")]
            static NONE: [$crate::CostCentre; 0] = [];
        };
    };
    (@table $name:literal, [$($init:path)?], [$($fini:path)?]) => {{
        unsafe extern "C" {
            // The linker defines them for a section whose name could be one of C.
            #[link_name = "__start_evl_cc"]
            static BEGIN: $crate::CostCentre;
            #[link_name = "__stop_evl_cc"]
            static END: $crate::CostCentre;
        }
        $crate::Object {
            size: ::core::mem::size_of::<$crate::Object>() as u32,
            abi: $crate::ABI_MAJOR as u32,
            name: ::core::concat!($name, "\0").as_ptr().cast(),
            begin: &raw const BEGIN,
            end: &raw const END,
            host: &raw const $crate::HOST,
            init: $crate::object!(@function $($init)?),
            fini: $crate::object!(@function $($fini)?),
        }
    }};
    (@function) => { ::core::option::Option::None };
    (@function $function:path) => { ::core::option::Option::Some($function) };
}

/// Has the rest of the block belong to a cost centre of that name. The name is a literal; the module and the place in
/// the source are those of the macro.
///
/// Costs a call into the host, and another at the end of the block: 5 ns together. Without a host, a load and a branch.
///
/// ```
/// use ghc_eventlog_object::scc;
///
/// fn parse(input: &str) -> usize {
///     scc!("parse");
///     input.split(',').count()
/// }
/// assert_eq!(parse("1,2"), 2);
/// ```
#[macro_export]
macro_rules! scc {
    ($label:literal) => {
        let _in_cost_centre = {
            #[used]
            #[unsafe(link_section = "evl_cc")]
            static COST_CENTRE: $crate::CostCentre = {
                const fn text(bytes: &'static [u8]) -> &'static ::core::ffi::CStr {
                    match ::core::ffi::CStr::from_bytes_with_nul(bytes) {
                        Ok(text) => text,
                        Err(_) => panic!("the name of a cost centre has no NUL inside"),
                    }
                }
                $crate::CostCentre::new(
                    text(::core::concat!($label, "\0").as_bytes()),
                    text(::core::concat!(::core::module_path!(), "\0").as_bytes()),
                    text(
                        ::core::concat!(
                            ::core::file!(),
                            ":",
                            ::core::line!(),
                            ":",
                            ::core::column!(),
                            "\0"
                        )
                        .as_bytes(),
                    ),
                    0,
                )
            };
            $crate::Scope::enter(&COST_CENTRE)
        };
    };
}
