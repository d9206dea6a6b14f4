//! How many tests run at once: most of them wait for a clock, so that more tests than cores keep the cores busy.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUST_TEST_THREADS");
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        // Cargo passes it to the test programs.
        println!("cargo::rustc-env=RUST_TEST_THREADS={}", 4 * cores);
    }
}
