//! Has every executable of this package export what objects look for; see `ghc_eventlog::objects`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-link-arg=-Wl,--export-dynamic-symbol=evl_*");
        println!("cargo::rustc-link-arg=-Wl,--export-dynamic-symbol=pthread_key_*");
    }
}
