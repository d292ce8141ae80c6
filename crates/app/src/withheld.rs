//! Keeps secrets out of the environment of this process: whatever an agent runs can read `/proc/PPID/environ`.
//!
//! An environment cannot be changed for good from inside. So a process that is going to run commands starts itself anew
//! without the variables that commands may not see, and hands them over through a descriptor: by memory on Linux, by a pipe
//! elsewhere. The process keeps its number, terminal and input. What was handed over is read and closed before anything
//! else.

use std::ffi::OsString;
use std::fmt;
use std::io;

use longhaul_hooks::{Variable, VariableRules};

/// The variables removed from the environment.
#[derive(Clone, Default, PartialEq)]
pub struct WithheldVariables(Vec<Variable>);

/// Hides the values.
impl fmt::Debug for WithheldVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WithheldVariables({} variables)", self.0.len())
    }
}

impl WithheldVariables {
    /// The value of a variable, withheld or not.
    pub fn variable(&self, name: &str) -> Option<String> {
        let withheld = self.0.iter().find(|(known, _)| known == name);
        withheld.map_or_else(|| std::env::var(name).ok(), |(_, value)| value.clone().into_string().ok())
    }

    /// True if a variable is set, even if its value is not text.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name) || std::env::var_os(name).is_some()
    }
}

/// The variable by which a restarted process recognises itself: its process id and the descriptor to read.
const MARKER: &str = "LONGHAUL_WITHHELD";

/// The environment of this process, without its own mark.
pub(crate) fn process_variables() -> impl Iterator<Item = Variable> {
    std::env::vars_os().filter(|(name, _)| name != MARKER)
}

/// Removes the variables that `rules` withhold from the environment: restarts this process if there are any, and returns them
/// in the restarted one.
///
/// # Errors
/// The variables are still in the environment, for this reason; everything else works as usual.
#[cfg(unix)]
pub fn take_out_secrets(rules: impl FnOnce() -> VariableRules) -> Result<WithheldVariables, io::Error> {
    keep_memory_private();
    if let Some(descriptor) = std::env::var(MARKER).ok().and_then(|marker| descriptor_of(&marker)) {
        return unix::receive(descriptor).map(WithheldVariables);
    }
    let split = rules().split(process_variables());
    match split.withheld.is_empty() {
        true => Ok(WithheldVariables::default()),
        false => Err(unix::restart(&split, unix::program()?)),
    }
}

/// On other systems, no process with our rights can read another's environment.
#[cfg(not(unix))]
pub fn take_out_secrets(_rules: impl FnOnce() -> VariableRules) -> Result<WithheldVariables, io::Error> {
    Ok(WithheldVariables::default())
}

/// Stops other processes of the same user, commands included, from reading this one's memory and environment.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn keep_memory_private() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // It is a second line of defence, and the first one tells when it fails.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
fn keep_memory_private() {}

/// The descriptor that a marker names, if it was written for this very process. A marker left behind by another process has
/// another id.
#[cfg(unix)]
fn descriptor_of(marker: &str) -> Option<i32> {
    let (process, descriptor) = marker.split_once(':')?;
    let is_own = process.parse() == Ok(std::process::id());
    // The first three are the terminal's.
    descriptor.parse().ok().filter(|descriptor| is_own && *descriptor > 2)
}

/// Variables as bytes; a NUL is in none of them.
#[cfg(unix)]
fn encode(variables: &[Variable]) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    let fields = variables.iter().flat_map(|(name, value)| [name, value]);
    fields.flat_map(|field| field.as_bytes().iter().copied().chain([0])).collect()
}

#[cfg(unix)]
fn decode(bytes: &[u8]) -> Option<Vec<Variable>> {
    use std::os::unix::ffi::OsStringExt;
    let fields = match bytes.strip_suffix(&[0]) {
        Some(bytes) => {
            bytes.split(|byte| *byte == 0).map(|field| OsString::from_vec(field.to_vec())).collect()
        }
        None if bytes.is_empty() => Vec::new(),
        None => return None,
    };
    let (pairs, rest) = fields.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().cloned().map(|[name, value]| (name, value)).collect())
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::process::CommandExt;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use longhaul_hooks::{SplitVariables, Variable};

    use super::{MARKER, decode, encode};

    /// The path of the program. If it was deleted meanwhile, Linux still has it.
    pub(super) fn program() -> io::Result<PathBuf> {
        let program = std::env::current_exe()?;
        let own = Path::new("/proc/self/exe");
        Ok(if program.exists() || !own.exists() { program } else { own.to_path_buf() })
    }

    /// Replaces this process by `program`; returns only on failure.
    pub(super) fn restart(split: &SplitVariables, program: PathBuf) -> io::Error {
        let handed_over = match hand_over(&encode(&split.withheld)) {
            Ok(descriptor) => descriptor,
            Err(error) => return error,
        };
        let mut arguments = std::env::args_os();
        let mut command = Command::new(program);
        if let Some(name) = arguments.next() {
            command.arg0(name);
        }
        command
            .args(arguments)
            .env_clear()
            .envs(split.given.iter().map(|(name, value)| (name, value)))
            .env(MARKER, format!("{}:{}", std::process::id(), handed_over.as_raw_fd()));
        command.exec()
    }

    /// A descriptor with these bytes that survives the start of another program.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn hand_over(bytes: &[u8]) -> io::Result<OwnedFd> {
        use std::io::Seek;
        let memory = rustix::fs::memfd_create("longhaul", rustix::fs::MemfdFlags::empty())?;
        let mut file = File::from(memory);
        file.write_all(bytes)?;
        file.rewind()?;
        Ok(file.into())
    }

    /// The same by a pipe, which must hold all of it, as nothing reads yet.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn hand_over(bytes: &[u8]) -> io::Result<OwnedFd> {
        use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
        use rustix::io::{FdFlags, fcntl_setfd};
        let (reader, writer) = io::pipe()?;
        fcntl_setfl(&writer, fcntl_getfl(&writer)? | OFlags::NONBLOCK)?;
        File::from(OwnedFd::from(writer)).write_all(bytes)?;
        fcntl_setfd(&reader, FdFlags::empty())?;
        Ok(reader.into())
    }

    /// Reads what was handed over, and closes the descriptor: no command inherits it.
    pub(super) fn receive(descriptor: i32) -> io::Result<Vec<Variable>> {
        let mut bytes = Vec::new();
        let mut buffer = [0; 8 << 10];
        let read = loop {
            match nix::unistd::read(descriptor, &mut buffer) {
                Ok(0) => break Ok(()),
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                Err(nix::errno::Errno::EINTR) => {}
                Err(error) => break Err(error),
            }
        };
        nix::unistd::close(descriptor)?;
        read?;
        decode(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::os::fd::IntoRawFd;

        #[test]
        fn what_is_handed_over_is_received_and_gone() {
            let variables: Vec<Variable> = vec![
                ("A_KEY".into(), "a=b\nc".into()),
                ("EMPTY_KEY".into(), "".into()),
                ("Ü".into(), "x".repeat(9_000).into()),
            ];
            let descriptor = hand_over(&encode(&variables)).expect("made").into_raw_fd();
            assert_eq!(receive(descriptor).expect("readable"), variables);
            assert!(receive(descriptor).is_err());
        }

        #[test]
        fn a_program_that_cannot_be_started_is_an_error_and_nothing_more() {
            let split = SplitVariables { given: Vec::new(), withheld: vec![("A_KEY".into(), "x".into())] };
            let before: Vec<_> = std::env::vars_os().collect();
            let error = restart(&split, "/no/such/program".into());
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
            assert_eq!(std::env::vars_os().collect::<Vec<_>>(), before);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_an_own_marker_counts() {
        let own = std::process::id();
        for (marker, expected) in [
            (format!("{own}:7"), Some(7)),
            (format!("{own}:2"), None),
            (format!("{own}:-1"), None),
            (format!("{own}:"), None),
            (format!("{}:7", own + 1), None),
            ("7".into(), None),
            (String::new(), None),
        ] {
            assert_eq!(descriptor_of(&marker), expected, "{marker}");
        }
    }

    #[test]
    fn what_is_no_environment_is_refused() {
        assert_eq!(decode(b""), Some(Vec::new()));
        assert_eq!(decode(b"A\0b\0"), Some(vec![("A".into(), "b".into())]));
        for broken in [&b"A"[..], b"A\0", b"A\0b", b"A\0b\0C\0"] {
            assert_eq!(decode(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn values_are_not_shown() {
        let withheld = WithheldVariables(vec![("A_KEY".into(), "very-secret".into())]);
        assert_eq!(format!("{withheld:?}"), "WithheldVariables(1 variables)");
        assert_eq!(withheld.variable("A_KEY").as_deref(), Some("very-secret"));
        assert_eq!(withheld.variable("NO_SUCH_VARIABLE_HERE"), None);
    }
}
