//! Finds the file that an import means, and only below its root.

use std::cell::OnceCell;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::discover::ceiling;

/// The folder that imports must stay in. Nothing outside of it is ever read.
#[derive(Clone, Debug)]
pub(super) struct Root<'a> {
    /// The folder of the file that begins, and what marks the root above it.
    folder: &'a Path,
    markers: &'a [String],
    /// The root without any links, looked for when it is first needed; none if it is gone, and then nothing can be imported.
    canonical: OnceCell<Option<PathBuf>>,
}

/// The reason why no file is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImportRefusal {
    /// The path leads out of the root, or to another machine.
    Outside,
    /// There is no such file.
    Missing,
    /// It is no path at all.
    NoPath,
}

impl<'a> Root<'a> {
    /// The root of files in this folder: the nearest one from there upwards with a marker, else the folder itself.
    pub(super) fn above(folder: &'a Path, markers: &'a [String]) -> Self {
        Self { folder, markers, canonical: OnceCell::new() }
    }

    fn canonical(&self) -> Option<&Path> {
        let find = || ceiling(self.folder, self.markers).canonicalize().ok();
        self.canonical.get_or_init(find).as_deref()
    }

    /// The file that is meant in a file of this folder, by its path without links.
    pub(super) fn resolve(&self, written: &str, folder: &Path) -> Result<PathBuf, ImportRefusal> {
        if is_address(written) {
            return Err(ImportRefusal::Outside);
        }
        if written.contains('\0') {
            return Err(ImportRefusal::NoPath);
        }
        if is_alias(written) {
            return Err(ImportRefusal::NoPath);
        }
        // Most words that look like imports are none, and then the first folder or file of their path is not there.
        if begins_nowhere(written, folder) {
            return Err(ImportRefusal::Missing);
        }
        let plain = self.resolve_plain(written, folder);
        let Some(decoded) = decode(written).filter(|decoded| !decoded.contains('\0')) else { return plain };
        // What is written in percent signs must stay inside, too, even where a file has that very name.
        match (plain, self.resolve_plain(&decoded, folder)) {
            (Err(ImportRefusal::Outside), _) | (_, Err(ImportRefusal::Outside)) => {
                Err(ImportRefusal::Outside)
            }
            (Ok(path), _) => Ok(path),
            (Err(_), decoded) => decoded,
        }
    }

    fn resolve_plain(&self, written: &str, folder: &Path) -> Result<PathBuf, ImportRefusal> {
        let root = self.canonical().ok_or(ImportRefusal::Outside)?;
        let path = folder.join(written);
        let end = follow(&path).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => ImportRefusal::NoPath,
            _ => ImportRefusal::Outside,
        })?;
        if !end.path.starts_with(root) {
            return Err(ImportRefusal::Outside);
        }
        if end.exists { Ok(end.path) } else { Err(ImportRefusal::Missing) }
    }
}

/// The end of a path.
struct PathEnd {
    path: PathBuf,
    exists: bool,
}

/// Follows every link of a path, and goes on by its words where nothing exists any more.
fn follow(path: &Path) -> io::Result<PathEnd> {
    match path.canonicalize() {
        Ok(path) => return Ok(PathEnd { path, exists: true }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
        // Loops of links, and folders that may not be entered.
        Err(error) => return Err(error),
    }
    if let Some(end) = follow_to_missing(path) {
        return end;
    }
    let mut end = PathBuf::new();
    let mut is_there = true;
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                end.pop();
                is_there = end.exists();
            }
            other => {
                end.push(other);
                if !is_there {
                    continue;
                }
                match end.canonicalize() {
                    Ok(real) => end = real,
                    // A link that leads nowhere might lead somewhere later: it is judged by where that would be.
                    Err(_) if fs::symlink_metadata(&end).is_ok_and(|found| found.is_symlink()) => {
                        return Err(io::Error::other("a link leads nowhere"));
                    }
                    Err(_) => is_there = false,
                }
            }
        }
    }
    Ok(PathEnd { path: end, exists: false })
}

/// The same where everything behind the last folder that exists is a matter of words.
fn follow_to_missing(path: &Path) -> Option<io::Result<PathEnd>> {
    let existing = path.ancestors().skip(1).find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    let (folder, real) = existing?;
    let rest = path.strip_prefix(folder).ok()?;
    let mut parts = rest.components();
    if !parts.clone().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let first = real.join(parts.next()?);
    if fs::symlink_metadata(first).is_ok_and(|found| found.is_symlink()) {
        return Some(Err(io::Error::other("a link leads nowhere")));
    }
    Some(Ok(PathEnd { path: real.join(rest), exists: false }))
}

/// True if a path stays below the folder by its words, and the first step from there does not exist.
fn begins_nowhere(written: &str, folder: &Path) -> bool {
    let path = Path::new(written);
    let is_below = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let mut names = path.components().filter(|part| *part != Component::CurDir);
    let Some(first) = names.next().filter(|_| is_below && !written.contains('%')) else { return false };
    fs::symlink_metadata(folder.join(first)).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// True if it names something on a network, or a file by its address.
fn is_address(written: &str) -> bool {
    let Some((scheme, _)) = written.split_once("://") else {
        return written.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("file:"));
    };
    !scheme.is_empty()
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
}

/// True if it is a name that a build gives to a folder, such as `@/components`: no such folder is at the root of the disk.
fn is_alias(written: &str) -> bool {
    let Some(rest) = written.strip_prefix('/') else { return false };
    let first = rest.split('/').next().unwrap_or(rest);
    let is_way = first == "." || first == ".." || first.contains('%');
    !is_way && !first.is_empty() && fs::symlink_metadata(Path::new("/").join(first)).is_err()
}

/// The text with percent signs decoded, if there are any that mean something.
fn decode(written: &str) -> Option<String> {
    if !written.contains('%') {
        return None;
    }
    let bytes = written.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match value.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| byte == b'%') {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).ok().filter(|decoded| decoded != written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, expected: Result<&str, ImportRefusal>) {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("there");
        for file in ["root/a.md", "root/sub/b.md", "root/my file.md", "outside.md", "root-2/c.md"] {
            fs::create_dir_all(base.join(file).parent().expect("inside")).expect("made");
            fs::write(base.join(file), "x").expect("written");
        }
        #[cfg(unix)]
        for (link, target) in [
            ("in", "sub"),
            ("out", ".."),
            ("file", "../outside.md"),
            ("loop", "loop"),
            ("gone", "../gone"),
            ("same", "a.md"),
        ] {
            std::os::unix::fs::symlink(target, base.join("root").join(link)).expect("linked");
        }
        let written = written.replace("BASE", base.to_str().expect("text"));
        fs::write(base.join("root/.git"), "").expect("written");
        let (start, markers) = (base.join("root/sub"), [".git".to_owned()]);
        let found = Root::above(&start, &markers).resolve(&written, &base.join("root/sub"));
        assert_eq!(found, expected.map(|path| base.join(path)), "{written}");
    }

    #[test]
    fn paths_inside_are_found() {
        check("b.md", Ok("root/sub/b.md"));
        check("./b.md", Ok("root/sub/b.md"));
        check("../a.md", Ok("root/a.md"));
        check("BASE/root/a.md", Ok("root/a.md"));
        check("../sub/../a.md", Ok("root/a.md"));
        check("../my%20file.md", Ok("root/my file.md"));
        check("none.md", Err(ImportRefusal::Missing));
        check("none/deep/x.md", Err(ImportRefusal::Missing));
        check("b.md/x", Err(ImportRefusal::Missing));
    }

    #[test]
    fn nothing_outside_is() {
        for path in [
            "../../outside.md",
            "BASE/outside.md",
            "BASE/root-2/c.md",
            "../../root-2/c.md",
            "/etc/passwd",
            "../../none",
            "%2e%2e/%2e%2e/outside.md",
            "..%2f..%2foutside.md",
            "none/../../../outside.md",
            "/../etc/passwd",
        ] {
            check(path, Err(ImportRefusal::Outside));
        }
    }

    #[test]
    fn addresses_are_refused() {
        for address in
            ["http://x/a.md", "HTTPS://x", "file:///etc/passwd", "File:/etc/passwd", "ftp://x", "git+ssh://x"]
        {
            check(address, Err(ImportRefusal::Outside));
        }
    }

    #[test]
    fn names_that_builds_give_are_no_paths() {
        check("/no-such-folder-here/Button", Err(ImportRefusal::NoPath));
        check("a\0b", Err(ImportRefusal::NoPath));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_judged_by_where_they_lead() {
        check("../in/b.md", Ok("root/sub/b.md"));
        check("../same", Ok("root/a.md"));
        check("../in/../a.md", Ok("root/a.md"));
        for link in
            ["../out/outside.md", "../file", "../loop", "../loop/x", "../gone", "../gone/x", "../out/none"]
        {
            check(link, Err(ImportRefusal::Outside));
        }
    }
}
