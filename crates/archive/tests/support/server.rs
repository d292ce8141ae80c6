//! A real PostgreSQL server in a temporary folder, reached by a socket in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};

static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// A server that ends when it is dropped.
pub(crate) struct Server {
    programs: PathBuf,
    folder: tempfile::TempDir,
    process: Child,
}

/// A pooler that gives each transaction whatever connection is free; it ends when it is dropped.
pub(crate) struct Pooler {
    folder: tempfile::TempDir,
    process: Child,
    database: String,
}

impl Pooler {
    /// PgBouncer in front of a database, with two connections for each role; none, loudly, where it is not installed.
    pub(crate) fn start(database: &Database, roles: &[&str]) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
        let Some(program) =
            { folders }.map(|folder| folder.join("pgbouncer")).find(|program| program.exists())
        else {
            eprintln!("skipped: no PgBouncer");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("longhaul-pb").tempdir().expect("a folder");
        let place = folder.path().display();
        let users: String = roles.iter().map(|role| format!("\"{role}\" \"\"\n")).collect();
        fs::write(folder.path().join("users"), users).expect("written");
        let settings = format!(
            "[databases]\n{name} = host={server} dbname={name}\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = {place}\n\
             auth_type = trust\nauth_file = {place}/users\npool_mode = transaction\ndefault_pool_size = 2\n",
            name = database.name,
            server = database.server.folder.path().display(),
        );
        fs::write(folder.path().join("settings"), settings).expect("written");
        give(folder.path());
        let mut process = command(&program, folder.path())
            .arg(folder.path().join("settings"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the pooler starts");
        while !folder.path().join(".s.PGSQL.6432").exists() {
            assert!(process.try_wait().expect("the pooler").is_none(), "the pooler ended");
            std::thread::yield_now();
        }
        Some(Self { folder, process, database: database.name.clone() })
    }

    /// The address of the database for a role.
    pub(crate) fn url(&self, role: &str) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://{role}@{folder}:6432/{}", self.database)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A database of a server.
pub(crate) struct Database {
    server: Arc<Server>,
    name: String,
}

impl Server {
    /// The server of all tests that run now; none, loudly, where there is no PostgreSQL.
    pub(crate) fn shared() -> Option<Arc<Self>> {
        let mut shared = SHARED.lock().expect("no test panics while it starts a server");
        if let Some(server) = shared.upgrade() {
            return Some(server);
        }
        let Some(programs) = programs() else {
            eprintln!("skipped: no PostgreSQL (no initdb on PATH or in /usr/lib/postgresql)");
            return None;
        };
        let server = Arc::new(Self::start(programs));
        *shared = Arc::downgrade(&server);
        Some(server)
    }

    fn start(programs: PathBuf) -> Self {
        let folder = tempfile::Builder::new().prefix("longhaul-pg").tempdir().expect("a folder");
        give(folder.path());
        let data = folder.path().join("data");
        let made = command(&programs.join("initdb"), folder.path())
            .args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(&data)
            .output()
            .expect("initdb runs");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let log = fs::File::create(folder.path().join("log")).expect("a log");
        let mut process = command(&programs.join("postgres"), folder.path())
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(folder.path())
            .args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "log_statement=all"])
            .args(["-c", "log_line_prefix=[%u@%d] ", "-c", "max_connections=40", "-c", "shared_buffers=16MB"])
            .stderr(log)
            .spawn()
            .expect("the server starts");
        let ready = folder.path().join("data/postmaster.pid");
        // Its last line says that it accepts connections.
        while !fs::read_to_string(&ready).is_ok_and(|text| text.lines().any(|line| line.trim() == "ready")) {
            let ended = process.try_wait().expect("the server");
            let log = || fs::read_to_string(folder.path().join("log")).unwrap_or_default();
            assert!(ended.is_none(), "the server ended: {}", log());
            std::thread::yield_now();
        }
        Self { programs, folder, process }
    }

    /// Makes a database, and roles that may do nothing of their own.
    pub(crate) fn database(self: &Arc<Self>, name: &str, roles: &[&str]) -> Database {
        let administration = Database { server: Arc::clone(self), name: "postgres".into() };
        administration.ask("postgres", &format!("CREATE DATABASE {name}"));
        for role in roles {
            // Another test may have made it.
            let _ = administration.try_ask("postgres", &format!("CREATE ROLE {role} LOGIN"));
        }
        Database { server: Arc::clone(self), name: name.into() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = command(&self.programs.join("pg_ctl"), self.folder.path())
            .args(["stop", "-m", "immediate", "-D"])
            .arg(self.folder.path().join("data"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let _ = self.process.wait();
    }
}

impl Database {
    /// Its address for a role.
    pub(crate) fn url(&self, role: &str) -> String {
        let folder = self.server.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://{role}@{folder}/{}", self.name)
    }

    /// The answer to statements, one value a line.
    #[track_caller]
    pub(crate) fn ask(&self, role: &str, statements: &str) -> String {
        self.try_ask(role, statements).unwrap_or_else(|error| panic!("{statements}: {error}"))
    }

    pub(crate) fn try_ask(&self, role: &str, statements: &str) -> Result<String, String> {
        let output = command(&self.server.programs.join("psql"), self.server.folder.path())
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statements])
            .arg(self.url(role))
            .output()
            .expect("psql runs");
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// The server's log: all statements.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.server.folder.path().join("log")).expect("the log")
    }
}

fn programs() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|version| version.path().join("bin"))
        .collect();
    folders.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.into_iter().rev().chain(on_path).find(|folder| folder.join("initdb").exists())
}

/// A command as the user `postgres`, if this is root, whom the server refuses.
fn command(program: &Path, folder: &Path) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    if let Some((user, group)) = server_user() {
        command.uid(user).gid(group);
    }
    command
}

fn give(folder: &Path) {
    if let Some((user, group)) = server_user() {
        std::os::unix::fs::chown(folder, Some(user), Some(group)).expect("the folder is given away");
    }
}

fn server_user() -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    if fs::metadata("/proc/self").ok()?.uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.starts_with("postgres:"))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
