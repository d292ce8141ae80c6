//! Images in a message: from the clipboard, or from a file whose path was pasted.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use longhaul_conversation::{Body, Media, MediaData, Origin, Part};

use crate::notice::Notice;

/// The largest image that is sent.
const MAX_BYTES: u64 = 10 << 20;
/// The longest time a clipboard tool may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The programs that print the clipboard's image, in the order they are tried.
const CLIPBOARD_TOOLS: &[&[&str]] = &[
    &["wl-paste", "--no-newline", "--type", "image/png"],
    &["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
    &["pngpaste", "-"],
];

/// An image to send with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PastedImage {
    /// The media type.
    pub(crate) mime: &'static str,
    pub(crate) bytes: Vec<u8>,
}

impl PastedImage {
    /// An image with a known format.
    fn of(bytes: Vec<u8>) -> Option<Self> {
        let mime = match bytes.as_slice() {
            [0x89, b'P', b'N', b'G', ..] => "image/png",
            [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
            [b'G', b'I', b'F', b'8', ..] => "image/gif",
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
            _ => return None,
        };
        Some(Self { mime, bytes })
    }

    /// Format and size, such as `PNG, 34 KB`.
    pub(crate) fn describe(&self) -> String {
        let format = self.mime.trim_start_matches("image/").to_uppercase();
        match self.bytes.len() {
            bytes @ 0..1_000 => format!("{format}, {bytes} bytes"),
            bytes @ 1_000..1_000_000 => format!("{format}, {} KB", bytes / 1_000),
            bytes => format!("{format}, {:.1} MB", bytes as f64 / 1e6),
        }
    }

    /// The image as a part of a message.
    pub(crate) fn to_part(&self) -> Part {
        let data = MediaData::Base64(base64::engine::general_purpose::STANDARD.encode(&self.bytes));
        Part::new(Origin::User, Body::Media(Box::new(Media { mime: self.mime.to_string(), data })))
    }
}

/// The path of an image file, if a pasted text is one: in full, from the home folder, quoted, escaped or as a `file://` address.
pub(crate) fn pasted_path(text: &str) -> Option<PathBuf> {
    let text = text.trim();
    if text.contains('\n') || text.len() > 4_096 {
        return None;
    }
    let quoted = ['"', '\''].iter().find_map(|mark| text.strip_prefix(*mark)?.strip_suffix(*mark));
    let path = match (text.strip_prefix("file://"), quoted) {
        (Some(address), _) => decode_address(address)?,
        (None, Some(inner)) => inner.to_string(),
        (None, None) => text.replace("\\ ", " "),
    };
    let extension = path.rsplit_once('.')?.1.to_lowercase();
    let is_full = path.starts_with('/') || path.starts_with("~/") || path.get(1..3) == Some(":\\");
    (is_full && ["png", "jpg", "jpeg", "gif", "webp"].contains(&extension.as_str())).then(|| path.into())
}

/// The text of an address with its `%20` and the like.
fn decode_address(address: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = address.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        bytes.push(match (*first, behind) {
            (b'%', [high, low, left @ ..]) => {
                rest = left;
                let digit = |letter: u8| char::from(letter).to_digit(16);
                u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?
            }
            (letter, _) => letter,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Loads an image from a file; `~` is the user's home folder.
pub(crate) fn load(path: &Path, home: Option<&Path>) -> Result<PastedImage, Notice> {
    let place = match (path.strip_prefix("~"), home) {
        (Ok(inside), Some(home)) => home.join(inside),
        _ => path.to_path_buf(),
    };
    let name = path.display();
    let failed = |error: std::io::Error| Notice::warning(format!("Could not attach {name}: {error}."));
    let found = std::fs::metadata(&place).map_err(failed)?;
    if !found.is_file() {
        return Err(Notice::warning(format!("Could not attach {name}: not a file.")));
    }
    let mut bytes = Vec::new();
    File::open(&place).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)).map_err(failed)?;
    checked(bytes, &name.to_string())
}

fn checked(bytes: Vec<u8>, name: &str) -> Result<PastedImage, Notice> {
    if bytes.len() as u64 > MAX_BYTES {
        let limit = MAX_BYTES >> 20;
        return Err(Notice::warning(format!("Could not attach {name}: larger than {limit} MB."))
            .with_hint("Scale it down first."));
    }
    PastedImage::of(bytes).ok_or_else(|| {
        Notice::warning(format!("Could not attach {name}: not a PNG, JPEG, GIF or WebP image."))
    })
}

/// The image in the clipboard, from the first clipboard tool that has one.
pub(crate) fn of_clipboard() -> Result<PastedImage, Notice> {
    from_tools(CLIPBOARD_TOOLS)
}

fn from_tools(tools: &[&[&str]]) -> Result<PastedImage, Notice> {
    let mut is_any_there = false;
    for words in tools {
        match run(words) {
            Err(_) => {}
            Ok(bytes) if bytes.is_empty() => is_any_there = true,
            Ok(bytes) => return checked(bytes, "the clipboard's image"),
        }
    }
    Err(match is_any_there {
        true => Notice::info("The clipboard has no image."),
        false => Notice::info("Could not read the clipboard: wl-paste, xclip or pngpaste is needed."),
    }
    .with_hint("You can also paste the path of an image, or name a file of the folder as @file."))
}

/// The output of a program; nothing if it fails or takes too long. An error if it is not there.
fn run(words: &[&str]) -> std::io::Result<Vec<u8>> {
    let (program, arguments) = words.split_first().expect("every tool has a name");
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let Some(output) = child.stdout.take() else { return Ok(Vec::new()) };
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        output.take(MAX_BYTES + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    let started = Instant::now();
    while !reader.is_finished() && started.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    if !reader.is_finished() {
        child.kill().ok();
    }
    let bytes = reader.join().unwrap_or_else(|_| Ok(Vec::new())).unwrap_or_default();
    // A program that still has more to say is not waited for.
    if bytes.len() as u64 > MAX_BYTES {
        child.kill().ok();
    }
    let status = child.wait()?;
    Ok(if status.success() || bytes.len() as u64 > MAX_BYTES { bytes } else { Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(pasted_path(text), expected.map(PathBuf::from), "{text}");
    }

    #[test]
    fn paths_of_images_are_recognised() {
        check("/tmp/a.png", Some("/tmp/a.png"));
        check(" '/tmp/my shot.PNG' \n", Some("/tmp/my shot.PNG"));
        check(r"/tmp/my\ shot.jpeg", Some("/tmp/my shot.jpeg"));
        check("file:///tmp/my%20shot.webp", Some("/tmp/my shot.webp"));
        check("~/a.gif", Some("~/a.gif"));
        check(r"C:\shots\a.png", Some(r"C:\shots\a.png"));
        for other in
            ["a.png", "see /tmp/a.png", "/tmp/a.txt", "/tmp/a.png\n/tmp/b.png", "", "file:///a%zz.png"]
        {
            check(other, None);
        }
    }

    #[test]
    fn files_that_are_no_images_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("written");
            path
        };
        let image = load(&file("a.png", b"\x89PNG rest"), None).expect("an image");
        assert_eq!((image.mime, image.describe().as_str()), ("image/png", "PNG, 9 bytes"));
        assert!(load(Path::new("~/a.png"), Some(folder.path())).is_ok());
        let told = |path: &Path| load(path, None).expect_err("no image").text;
        assert!(told(&file("b.png", b"text")).contains("not a PNG, JPEG, GIF or WebP image"));
        assert!(told(&folder.path().join("none.png")).starts_with("Could not attach "));
        assert!(told(&file("c.png", &vec![0; MAX_BYTES as usize + 1])).contains("larger than 10 MB"));
        assert!(told(folder.path()).contains("not a file"));
    }

    #[cfg(unix)]
    #[test]
    fn clipboard_tools_are_tried_in_turn() {
        let image = from_tools(&[&["no-such-tool"], &["false"], &["printf", "\\211PNG"]]);
        assert_eq!(image.expect("an image").bytes, b"\x89PNG");
        let told = |tools| from_tools(tools).expect_err("no image").text;
        assert_eq!(told(&[&["false"]]), "The clipboard has no image.");
        assert_eq!(
            told(&[&["no-such-tool"]]),
            "Could not read the clipboard: wl-paste, xclip or pngpaste is needed."
        );
        assert!(told(&[&["printf", "text"]]).contains("not a PNG"));
    }
}
