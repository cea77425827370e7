//! What cost centres cost the code that is within them, and what calling an object costs.

#[cfg(target_os = "linux")]
fn main() {
    linux::benches();
    criterion::Criterion::default()
        .configure_from_args()
        .final_summary();
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use criterion::{Criterion, criterion_group};
    use ghc_eventlog::objects::{
        HostExports, LoadOptions, Object, Objects, inspect, registry, stack,
    };
    use ghc_eventlog_object::{object, scc};
    use std::hint::black_box;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::time::{Duration, Instant};

    object!("bench", register);

    type Run = unsafe extern "C" fn(u64) -> u64;

    /// The sample in C.
    fn sample(directory: &Path) -> PathBuf {
        let object = Path::new(env!("CARGO_MANIFEST_DIR")).join("../eventlog/object");
        let path = directory.join("sample.so");
        let built = Command::new(std::env::var_os("CC").unwrap_or("cc".into()))
            .args(["-O2", "-fPIC", "-shared", "-I"])
            .arg(object.join("include"))
            .arg(object.join("sample/sample.c"))
            .arg("-o")
            .arg(&path)
            .status()
            .expect("a C compiler is needed");
        assert!(built.success());
        path
    }

    fn load(path: &Path) -> Object {
        // SAFETY: the sample keeps the contract.
        unsafe { Objects::new().load(path, LoadOptions::new()) }.expect("the sample is loaded")
    }

    /// A cost centre entered and left, as Rust and C do it, at the bottom of a stack and deep inside.
    fn enter_leave(c: &mut Criterion) {
        let directory = tempfile::tempdir().unwrap();
        let object = load(&sample(directory.path()));
        let mut group = c.benchmark_group("objects/enter_leave");
        group.bench_function("nothing", |b| b.iter(|| black_box(1)));
        group.bench_function("rust", |b| {
            b.iter(|| {
                scc!("work");
                black_box(1)
            });
        });
        group.bench_function("rust_within_8", |b| {
            fn within<R>(depth: u32, f: &mut dyn FnMut() -> R) -> R {
                if depth == 0 {
                    return f();
                }
                // Two take turns, since one that calls itself is entered once.
                if depth % 2 == 0 {
                    scc!("even");
                    within(depth - 1, f)
                } else {
                    scc!("odd");
                    within(depth - 1, f)
                }
            }
            within(8, &mut || {
                b.iter(|| {
                    scc!("work within");
                    black_box(1)
                });
            });
        });
        // SAFETY: this is the function's type.
        let run = unsafe { object.symbol::<Run>(c"sample_run") }.unwrap();
        group.bench_function("c", |b| {
            b.iter_custom(|rounds| {
                let entered = object.enter().unwrap();
                let begin = Instant::now();
                // SAFETY: takes any number.
                black_box(unsafe { entered.get(&run)(rounds) });
                begin.elapsed()
            });
        });
        group.finish();
        object.unload(Duration::from_secs(10)).unwrap();
    }

    /// What an allocator and a sampler do.
    fn read(c: &mut Criterion) {
        let mut group = c.benchmark_group("objects/read");
        scc!("outer");
        scc!("inner");
        group.bench_function("current_key", |b| b.iter(|| stack::current().key()));
        group.bench_function("each", |b| {
            b.iter(|| {
                let mut depth = 0;
                stack::each(|stack| depth += stack.ids().len());
                depth
            });
        });
        group.bench_function("list", |b| b.iter(|| registry().cost_centres()));
        group.finish();
    }

    /// A call's guard, and loading with unloading.
    fn calls(c: &mut Criterion) {
        let directory = tempfile::tempdir().unwrap();
        let path = sample(directory.path());
        let object = load(&path);
        let mut group = c.benchmark_group("objects/call");
        group.bench_function("guard", |b| b.iter(|| black_box(object.enter()).is_some()));
        object.unload(Duration::from_secs(10)).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let host = HostExports::complete();
        group.bench_function("inspect", |b| b.iter(|| inspect(&bytes, &host).unwrap()));
        group.bench_function("load_unload", |b| {
            b.iter(|| load(&path).unload(Duration::from_secs(10)).unwrap());
        });
        group.finish();
    }

    criterion_group!(benches, enter_leave, read, calls);
}
