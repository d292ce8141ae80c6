//! Limits of the system that would otherwise make a library panic: open files and threads.

use std::io;
use std::thread;

/// Pipes that a runtime, a connection, a session and a command need at once, generously.
const PIPES: usize = 8;

/// Checks that a thread can be started.
///
/// # Errors
/// The system's, where it gives this process no other thread.
pub fn check_threads() -> io::Result<()> {
    let thread = thread::Builder::new().stack_size(16 << 10).spawn(|| ())?;
    thread.join().map_err(|_| io::Error::other("a thread that does nothing failed"))
}

/// Checks that some files can be opened.
///
/// # Errors
/// The system's, where too many are open already.
pub fn check_descriptors() -> io::Result<()> {
    (0..PIPES).map(|_| io::pipe()).collect::<io::Result<Vec<_>>>().map(drop)
}

/// True if an error says that too many files are open, by this process or by all.
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        let code = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
        matches!(code, Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
    }
    #[cfg(not(unix))]
    {
        // ERROR_TOO_MANY_OPEN_FILES
        error.raw_os_error() == Some(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_process_may_go_on() {
        check_threads().expect("a thread");
        check_descriptors().expect("pipes");
        assert!(!is_out_of_descriptors(&io::ErrorKind::NotFound.into()));
        #[cfg(unix)]
        assert!(is_out_of_descriptors(&rustix::io::Errno::MFILE.into()));
    }
}
