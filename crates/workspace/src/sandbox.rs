//! The sandbox that commands run in: Landlock, on Linux. What is not named can be read and not changed.

use std::io;
use std::path::PathBuf;

/// The limits of a command and of everything that it starts. They cannot be lifted again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// Folders and files that may be changed, with everything below them. Those that do not exist are left out.
    pub writable: Vec<PathBuf>,
    /// The connections that may be made.
    pub network: NetworkAccess,
}

/// The connections that may be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetworkAccess {
    /// No TCP connections, neither out nor in.
    #[default]
    None,
    /// All.
    Full,
}

impl Sandbox {
    /// Checks that the system enforces it in full.
    ///
    /// # Errors
    /// The reason why it does not.
    pub fn check(&self) -> io::Result<()> {
        self.run(|| Ok(()))
    }

    /// Runs this on a thread of its own that is confined for good, and whatever it starts with it.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let confined = || {
            self.confine_thread()?;
            work()
        };
        std::thread::scope(|scope| scope.spawn(confined).join())
            .unwrap_or_else(|_| Err(io::Error::other("the sandbox failed")))
    }

    #[cfg(target_os = "linux")]
    fn confine_thread(&self) -> io::Result<()> {
        use landlock::{
            ABI, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
            RulesetStatus, path_beneath_rules,
        };
        let confine = || {
            let changes = AccessFs::from_write(ABI::V3);
            // Half a sandbox is none: what the system does not know is an error.
            let rules =
                Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(changes)?;
            let rules = match self.network {
                NetworkAccess::None => rules.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?,
                NetworkAccess::Full => rules,
            };
            rules.create()?.add_rules(path_beneath_rules(&self.writable, changes))?.restrict_self()
        };
        match confine() {
            Ok(status) if status.ruleset == RulesetStatus::FullyEnforced => Ok(()),
            Ok(_) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "this system enforces only a part of it"))
            }
            Err(error) => Err(io::Error::new(io::ErrorKind::Unsupported, error.to_string())),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn confine_thread(&self) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux has Landlock"))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// A sandbox around a folder, if this system has one.
    fn sandbox(network: NetworkAccess) -> Option<(tempfile::TempDir, Sandbox)> {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["inside", "outside"] {
            fs::create_dir(folder.path().join(name)).expect("made");
        }
        let sandbox = Sandbox { writable: vec![folder.path().join("inside"), "/nowhere".into()], network };
        match sandbox.check() {
            Ok(()) => Some((folder, sandbox)),
            Err(error) => {
                println!("skipped: {error}");
                None
            }
        }
    }

    #[test]
    fn only_what_is_named_can_be_changed() {
        let Some((folder, sandbox)) = sandbox(NetworkAccess::Full) else { return };
        let [inside, outside] = ["inside/a", "outside/a"].map(|name| folder.path().join(name));
        fs::write(&outside, "before").expect("it is free");
        let write = |path: &PathBuf| sandbox.run(|| fs::write(path, "x"));
        write(&inside).expect("it may");
        assert_eq!(write(&outside).expect_err("it may not").kind(), io::ErrorKind::PermissionDenied);
        assert!(sandbox.run(|| fs::remove_file(&outside)).is_err());
        assert!(sandbox.run(|| fs::rename(&outside, folder.path().join("inside/b"))).is_err());
        assert_eq!(sandbox.run(|| fs::read_to_string(&outside)).expect("reading is free"), "before");
        // The thread that asked is as free as before.
        fs::write(&outside, "after").expect("it is free");
    }

    #[test]
    fn connections_are_as_they_were_set() {
        let Some((_folder, closed)) = sandbox(NetworkAccess::None) else { return };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let refused = closed.run(|| TcpStream::connect(address)).expect_err("it may not");
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert!(closed.run(|| TcpListener::bind("127.0.0.1:0")).is_err());
        let open = Sandbox { network: NetworkAccess::Full, ..closed };
        open.run(|| TcpStream::connect(address)).expect("it may");
    }
}
