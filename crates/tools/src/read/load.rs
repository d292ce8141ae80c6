//! Loading a file for a model: access checks, kind, and line limits.

use std::fs::Metadata;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use longhaul_conversation::{Media, MediaData};

use super::kind::{FileKind, SAMPLE, SUPPORTED_AUDIO_NAMES, detect_kind};
use super::slice::{ReadRange, Slice, slice_lines};
use crate::folder::open_file;
use crate::{IgnoreFiles, IgnoreReason, PathRefusal, Roots};
use longhaul_workspace::decode_text;

/// The most bytes of a file.
pub(crate) const MAX_FILE_BYTES: u64 = 20 * 1024 * 1024;

/// The most bytes of an SVG shown as text.
const MAX_SVG_BYTES: usize = 1024 * 1024;

/// A loaded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedFile {
    /// Its path without links.
    pub place: PathBuf,
    /// The content shown.
    pub content: FileContent,
}

/// The content of a file for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// Lines of text.
    Lines(Slice),
    /// An image, a document, audio or video.
    Media(Media),
    /// Nothing, with the reason in a sentence.
    Nothing(String),
}

/// The reason why a file is not shown.
#[derive(Debug, thiserror::Error)]
pub enum FileReadError {
    /// The path is refused.
    #[error(transparent)]
    Refused(#[from] PathRefusal),
    /// An ignore file hides it.
    #[error("{path} is not shown: {reason}")]
    Ignored {
        /// The path, relative to the workspace if possible.
        path: String,
        /// The ignore rule.
        reason: IgnoreReason,
    },
    /// There is no such file.
    #[error("{path} does not exist")]
    Missing {
        /// The path, relative to the workspace if possible.
        path: String,
    },
    /// It is a folder.
    #[error("{path} is a folder, not a file; list_directory shows what is in it")]
    Folder {
        /// The path, relative to the workspace if possible.
        path: String,
    },
    /// It is too large.
    #[error("{path} is too large: it has {} MB, and {} MB can be read", megabytes(*.bytes), MAX_FILE_BYTES / 1024 / 1024)]
    TooLarge {
        /// The path, relative to the workspace if possible.
        path: String,
        /// Its size.
        bytes: u64,
    },
    /// It is audio in a format that models do not accept.
    #[error("{path} is a sound of a kind that models do not take; they take {SUPPORTED_AUDIO_NAMES}")]
    UnsupportedAudio {
        /// The path, relative to the workspace if possible.
        path: String,
    },
    /// The system reported an error.
    #[error("could not read {path}: {cause}")]
    Failed {
        /// The path, relative to the workspace if possible.
        path: String,
        /// The error.
        cause: io::Error,
    },
}

fn megabytes(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / (1024.0 * 1024.0))
}

/// Loads a file within the limits that apply to all files: inside the workspace, not ignored, a regular file of at most
/// 20 MB, 2000 lines of 2000 characters unless the range has an end.
///
/// # Errors
/// [`FileReadError`], in words for the model.
pub fn load_file(
    roots: &Roots,
    ignored: &IgnoreFiles,
    path: &str,
    range: ReadRange,
) -> Result<LoadedFile, FileReadError> {
    let place = roots.resolve(path)?;
    load_place(roots, ignored, place, range)
}

/// Like [`load_file`], for a path without links.
pub(crate) fn load_place(
    roots: &Roots,
    ignored: &IgnoreFiles,
    place: PathBuf,
    range: ReadRange,
) -> Result<LoadedFile, FileReadError> {
    let path = || roots.shorten(&place).display().to_string();
    if let Some(reason) = ignored.is_ignored(&place, false) {
        return Err(FileReadError::Ignored { path: path(), reason });
    }
    let (_, bytes) = read_whole(roots, &place)?;
    let content = show(&place, &bytes, range, path)?;
    Ok(LoadedFile { place, content })
}

/// The bytes of a regular file that is not too large, with its metadata from before the read.
pub(crate) fn read_whole(roots: &Roots, place: &Path) -> Result<(Metadata, Vec<u8>), FileReadError> {
    let path = || roots.shorten(place).display().to_string();
    let failed = |cause: io::Error| match cause.kind() {
        ErrorKind::NotFound => FileReadError::Missing { path: path() },
        ErrorKind::IsADirectory => FileReadError::Folder { path: path() },
        _ => FileReadError::Failed { path: path(), cause },
    };
    let file = open_file(roots, place).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    let size = found.len();
    if size > MAX_FILE_BYTES {
        return Err(FileReadError::TooLarge { path: path(), bytes: size });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // A file may grow while it is read, or not know its size.
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 {
        read if read > MAX_FILE_BYTES => Err(FileReadError::TooLarge { path: path(), bytes: read }),
        _ => Ok((found, bytes)),
    }
}

fn show(
    place: &Path,
    bytes: &[u8],
    range: ReadRange,
    path: impl Fn() -> String,
) -> Result<FileContent, FileReadError> {
    let media = |mime: &str| match bytes.is_empty() {
        true => FileContent::Nothing(format!("{} is empty.", path())),
        false => FileContent::Media(Media {
            mime: mime.to_string(),
            data: MediaData::Base64(BASE64_STANDARD.encode(bytes)),
        }),
    };
    Ok(match detect_kind(place, &bytes[..bytes.len().min(SAMPLE)]) {
        FileKind::Text => FileContent::Lines(slice_lines(&decode_text(bytes).text, range)),
        FileKind::Svg if bytes.len() > MAX_SVG_BYTES => FileContent::Nothing(format!(
            "{} is not shown: as a drawing of {} MB it is too large to be read as text, which 1 MB may have.",
            path(),
            megabytes(bytes.len() as u64),
        )),
        FileKind::Svg => FileContent::Lines(whole(&decode_text(bytes).text)),
        FileKind::Image(mime) | FileKind::Audio(mime) | FileKind::Video(mime) => media(mime),
        FileKind::Pdf => media("application/pdf"),
        FileKind::UnsupportedAudio => return Err(FileReadError::UnsupportedAudio { path: path() }),
        FileKind::Binary => FileContent::Nothing(format!("{} cannot be shown: it is no text.", path())),
    })
}

/// The whole text: a part of an SVG is useless.
fn whole(text: &str) -> Slice {
    let text = text.replace("\r\n", "\n");
    let total = text.split('\n').count();
    Slice { text, first: 1, last: total, total, is_shortened: false }
}
