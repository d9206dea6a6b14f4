//! Ctrl-C and SIGTERM: the first one sets a flag, the second one ends prony at once (the guard cleans up).
//!
//! The protocol checks the flag between its steps. This module stops nothing itself.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

/// prony's exit status after an interrupt.
pub(crate) const EXIT_STATUS: u8 = 130;

static SIGNALS: AtomicU32 = AtomicU32::new(0);
static CTRL_C_IS_LENT: AtomicBool = AtomicBool::new(false);

/// Installs the handler for SIGINT and SIGTERM; once, at the start of the program.
pub fn install() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler does nothing but count in an atomic and `_exit`, both allowed in a signal handler. SA_RESTART
        // is not set, so that a read that waits for a server returns.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, std::ptr::null_mut())
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Whether the user interrupted prony.
pub fn asked() -> bool {
    SIGNALS.load(SeqCst) > 0
}

/// Makes prony ignore Ctrl-C (true) while another program, such as a client, uses the terminal: Ctrl-C reaches all
/// foreground processes, and that program handles it.
pub fn lend_ctrl_c(lent: bool) {
    CTRL_C_IS_LENT.store(lent, SeqCst);
}

extern "C" fn on_signal(signal: libc::c_int) {
    if signal == libc::SIGINT && CTRL_C_IS_LENT.load(SeqCst) {
        return;
    }
    if SIGNALS.fetch_add(1, SeqCst) > 0 {
        // SAFETY: `_exit` is async-signal-safe (signal-safety(7)).
        unsafe { libc::_exit(EXIT_STATUS.into()) };
    }
}
