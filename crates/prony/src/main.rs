<<<<<<< HEAD
fn main() -> std::process::ExitCode {
    prony::cli::main()
=======
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [verb, journal] if verb == prony::host::guard::VERB => {
            prony::cli::guard::run(journal.as_ref())
        }
        _ => ExitCode::from(2),
    }
>>>>>>> host
}
