fn main() -> std::process::ExitCode {
    prony::cli::main()
}
