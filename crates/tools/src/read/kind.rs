//! Detection of file kinds by name and first bytes.

use std::path::Path;

use longhaul_workspace::Encoding;

/// The number of bytes at the start of a file that are examined.
pub(crate) const SAMPLE: usize = 8 * 1024;

/// The kind of a file, as models distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Text.
    Text,
    /// A vector image, which is text.
    Svg,
    /// An image of this media type.
    Image(&'static str),
    /// A PDF, which models accept.
    Pdf,
    /// Audio of this media type.
    Audio(&'static str),
    /// Audio in a format that models do not accept.
    UnsupportedAudio,
    /// Video of this media type.
    Video(&'static str),
    /// Binary data that models cannot use.
    Binary,
}

/// Media types by extension: those of files passed to models as they are, and those that share an extension with text.
const MEDIA: [(&str, &str); 46] = [
    ("apng", "image/apng"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("gif", "image/gif"),
    ("heic", "image/heic"),
    ("heif", "image/heif"),
    ("ico", "image/vnd.microsoft.icon"),
    ("jfif", "image/jpeg"),
    ("jpe", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("png", "image/png"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("webp", "image/webp"),
    ("aac", "audio/aac"),
    ("adp", "audio/adpcm"),
    ("aif", "audio/aiff"),
    ("aifc", "audio/aiff"),
    ("aiff", "audio/aiff"),
    ("amr", "audio/amr"),
    ("au", "audio/basic"),
    ("flac", "audio/flac"),
    ("m4a", "audio/mp4"),
    ("mid", "audio/midi"),
    ("midi", "audio/midi"),
    ("mp3", "audio/mpeg"),
    ("oga", "audio/ogg"),
    ("ogg", "audio/ogg"),
    ("opus", "audio/opus"),
    ("snd", "audio/basic"),
    ("wav", "audio/wav"),
    ("wave", "audio/wav"),
    ("weba", "audio/webm"),
    ("wma", "audio/x-ms-wma"),
    ("3gp", "video/3gpp"),
    ("avi", "video/x-msvideo"),
    ("flv", "video/x-flv"),
    ("m4v", "video/mp4"),
    ("mkv", "video/x-matroska"),
    ("mov", "video/quicktime"),
    ("mp4", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("mpg", "video/mpeg"),
    ("webm", "video/webm"),
    ("wmv", "video/x-ms-wmv"),
];

/// The audio types that models accept; other spellings are normalised in [`MEDIA`].
const SUPPORTED_AUDIO: [&str; 6] =
    ["audio/mpeg", "audio/wav", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"];

/// The accepted audio formats, for messages.
pub(crate) const SUPPORTED_AUDIO_NAMES: &str = "mp3, wav, aiff, aac, ogg and flac";

/// Extensions of binary files, whatever their first bytes look like.
const BINARY: [&str; 34] = [
    "bin", "exe", "dll", "so", "dylib", "class", "jar", "war", "zip", "tar", "gz", "bz2", "rar", "7z", "pak",
    "rpa", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "odp", "pyc", "pyo", "dat", "obj", "o",
    "a", "lib", "wasm", "xz",
];

/// Detects the kind of a file. `sample` is its beginning, or all of it.
pub(crate) fn detect_kind(path: &Path, sample: &[u8]) -> FileKind {
    let extension = path.extension().map(|end| end.to_string_lossy().to_lowercase()).unwrap_or_default();
    match extension.as_str() {
        // Tables of media types list them as video.
        "ts" | "mts" | "cts" => return FileKind::Text,
        "svg" => return FileKind::Svg,
        "pdf" => return FileKind::Pdf,
        _ => {}
    }
    let media = MEDIA.iter().find(|(end, _)| *end == extension).map(|(_, mime)| *mime);
    match media.and_then(|mime| Some((mime.split_once('/')?.0, mime))) {
        Some(("image", mime)) => FileKind::Image(image_by_content(sample).unwrap_or(mime)),
        Some((_, _)) if !looks_binary(sample) => FileKind::Text,
        Some(("audio", mime)) if SUPPORTED_AUDIO.contains(&mime) => FileKind::Audio(mime),
        Some(("audio", _)) => FileKind::UnsupportedAudio,
        Some((_, mime)) => FileKind::Video(mime),
        None if BINARY.contains(&extension.as_str()) || looks_binary(sample) => FileKind::Binary,
        None => FileKind::Text,
    }
}

/// The media type of an image by its first bytes: providers refuse an image whose name is wrong.
fn image_by_content(sample: &[u8]) -> Option<&'static str> {
    match sample {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// True if the beginning of a file is not text: it contains a NUL, or more than a tenth of it are control characters
/// and invalid UTF-8. A BOM marks text.
pub(crate) fn looks_binary(sample: &[u8]) -> bool {
    if Encoding::by_mark(sample).is_some() {
        return false;
    }
    let sample = &sample[..sample.len().min(SAMPLE)];
    if sample.contains(&0) {
        return true;
    }
    // Escape is not counted: logs are full of colours.
    let is_control = |byte: &u8| matches!(byte, 0..=8 | 14..=26 | 28..=31);
    let controls = sample.iter().filter(|byte| is_control(byte)).count();
    let invalid: usize = sample.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    // A character cut by the end of the sample is not an error.
    let cut = match sample.utf8_chunks().last() {
        Some(chunk)
            if std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none()) =>
        {
            chunk.invalid().len()
        }
        _ => 0,
    };
    let suspicious = controls + invalid - cut;
    suspicious > 1 && suspicious * 10 > sample.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: &[u8] = b"\x00\x01\x02\x03";

    #[track_caller]
    fn check(name: &str, sample: &[u8], expected: FileKind) {
        assert_eq!(detect_kind(Path::new(name), sample), expected, "{name}");
    }

    #[test]
    fn names_tell_what_a_file_is() {
        for name in ["a.ts", "a.mts", "A.CTS"] {
            check(name, BYTES, FileKind::Text);
        }
        check("a.svg", b"<svg/>", FileKind::Svg);
        check("a.PNG", BYTES, FileKind::Image("image/png"));
        check("a.jpeg", b"text", FileKind::Image("image/jpeg"));
        check("a.pdf", b"%PDF-1.7", FileKind::Pdf);
        check("a.zip", b"text", FileKind::Binary);
        check("a.dat", b"text", FileKind::Binary);
        check("a.rs", b"fn main() {}", FileKind::Text);
        check("Makefile", b"all:", FileKind::Text);
        check("noname", BYTES, FileKind::Binary);
        check("a.rs", BYTES, FileKind::Binary);
        check("empty", b"", FileKind::Text);
    }

    #[test]
    fn an_image_is_what_it_begins_like() {
        check("a.png", b"\xFF\xD8\xFF\xE0", FileKind::Image("image/jpeg"));
        check("a.jpg", b"RIFF\x01\x02\x03\x04WEBPVP8 ", FileKind::Image("image/webp"));
    }

    #[test]
    fn sounds_and_films_are_so_only_if_they_are_no_text() {
        check("a.adp", b"<?xml version=\"1.0\"?>", FileKind::Text);
        check("a.adp", BYTES, FileKind::UnsupportedAudio);
        check("a.mp3", b"ID3\x03\x00\x00", FileKind::Audio("audio/mpeg"));
        check("a.mp3", b"not a sound", FileKind::Text);
        for (name, mime) in [
            ("a.wave", "audio/wav"),
            ("a.aif", "audio/aiff"),
            ("a.aac", "audio/aac"),
            ("a.ogg", "audio/ogg"),
            ("a.flac", "audio/flac"),
        ] {
            check(name, BYTES, FileKind::Audio(mime));
        }
        for name in ["a.m4a", "a.wma", "a.mid", "a.opus"] {
            check(name, BYTES, FileKind::UnsupportedAudio);
        }
        check("a.mp4", BYTES, FileKind::Video("video/mp4"));
        check("a.mpg", b"plain", FileKind::Text);
    }

    #[track_caller]
    fn check_text(sample: &[u8]) {
        assert!(!looks_binary(sample), "{:?}", String::from_utf8_lossy(sample));
    }

    #[track_caller]
    fn check_binary(sample: &[u8]) {
        assert!(looks_binary(sample), "{sample:?}");
    }

    #[test]
    fn text_of_any_script_is_text() {
        check_text(b"");
        check_text("漢字かな交じり文。".repeat(400).as_bytes());
        check_text("🦀🚀".repeat(50).as_bytes());
        check_text("\u{FFFD}\u{FFFD}\u{FFFD}".as_bytes());
        check_text(b"\x1b[31mred\x1b[0m\x1b[32mgreen\x1b[0m\n");
        check_text(b"\xFF\xFEh\0i\0");
        check_text(b"\0\0\xFE\xFF\0\0\0h");
        check_text(b"une caf\xE9 et du th\xE9, s'il vous pla\xEEt bien");
        // For any cut inside a character.
        let text = "漢".repeat(SAMPLE);
        for cut in 0..4 {
            check_text(&text.as_bytes()[..SAMPLE - cut]);
        }
        check_text("a漢".as_bytes().split_at(2).0);
    }

    #[test]
    fn bytes_that_are_no_text_are_binary() {
        check_binary(b"a\0b");
        check_binary(&[0xFF, 0xC0, 0x80, 0xFE, 0x41]);
        check_binary(&[0x01, 0x02, 0x03, 0x04, b'a', b'b']);
        check_binary(&(128..=255).collect::<Vec<u8>>());
    }
}
