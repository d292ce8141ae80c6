//! One file as a model gets it: what may be read, what it is, and how much of it is shown.

use std::fs::Metadata;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use longhaul_conversation::{Media, MediaData};

use super::kind::{FileKind, SAMPLE, SUPPORTED_AUDIO_NAMES, detect_kind};
use super::slice::{LineRange, Slice, slice_lines};
use crate::folder::open_file;
use crate::text::decode_text;
use crate::{IgnoreFiles, Reason, Refusal, Roots};

/// How many bytes a file may have.
pub const MOST_BYTES: u64 = 20 * 1024 * 1024;

/// How many bytes a drawing may have to be shown as text.
const MOST_SVG_BYTES: usize = 1024 * 1024;

/// A file, as a model gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Where it is, without links.
    pub place: PathBuf,
    /// What of it is shown.
    pub content: Content,
}

/// What of a file is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Lines of text.
    Lines(Slice),
    /// An image, a document, a sound or a film.
    Media(Media),
    /// Nothing, for this reason, in a sentence.
    Nothing(String),
}

/// Why a file is not shown.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The path is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// An ignore file hides it.
    #[error("{path} is not shown: {reason}")]
    Ignored {
        /// The path, as it is best known.
        path: String,
        /// What hides it.
        reason: Reason,
    },
    /// There is none.
    #[error("{path} does not exist")]
    Missing {
        /// The path, as it is best known.
        path: String,
    },
    /// It is a folder.
    #[error("{path} is a folder, not a file; list_directory shows what is in it")]
    Folder {
        /// The path, as it is best known.
        path: String,
    },
    /// It has too many bytes.
    #[error("{path} is too large: it has {} MB, and {} MB can be read", megabytes(*.bytes), MOST_BYTES / 1024 / 1024)]
    TooLarge {
        /// The path, as it is best known.
        path: String,
        /// How many.
        bytes: u64,
    },
    /// It is a sound that models do not take.
    #[error("{path} is a sound of a kind that models do not take; they take {SUPPORTED_AUDIO_NAMES}")]
    UnsupportedAudio {
        /// The path, as it is best known.
        path: String,
    },
    /// The system refuses.
    #[error("could not read {path}: {cause}")]
    Failed {
        /// The path, as it is best known.
        path: String,
        /// What it says.
        cause: io::Error,
    },
}

fn megabytes(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / (1024.0 * 1024.0))
}

/// Reads the file that a path names, within the limits that hold for every file: inside the workspace, not ignored, a
/// regular file of at most [`MOST_BYTES`], 2000 lines of 2000 characters unless the range says where to end.
///
/// # Errors
/// [`ReadError`], in words for the model.
pub fn load_file(
    roots: &Roots,
    ignored: &IgnoreFiles,
    path: &str,
    range: LineRange,
) -> Result<Loaded, ReadError> {
    let place = roots.resolve(path)?;
    load_place(roots, ignored, place, range)
}

/// As [`load_file`], for a place that is without links.
pub(crate) fn load_place(
    roots: &Roots,
    ignored: &IgnoreFiles,
    place: PathBuf,
    range: LineRange,
) -> Result<Loaded, ReadError> {
    let path = || roots.shorten(&place).display().to_string();
    if let Some(reason) = ignored.is_ignored(&place, false) {
        return Err(ReadError::Ignored { path: path(), reason });
    }
    let (_, bytes) = read_whole(roots, &place)?;
    let content = show(&place, &bytes, range, path)?;
    Ok(Loaded { place, content })
}

/// The bytes of a regular file that is not too large, and what the system said about it before it was read.
pub(crate) fn read_whole(roots: &Roots, place: &Path) -> Result<(Metadata, Vec<u8>), ReadError> {
    let path = || roots.shorten(place).display().to_string();
    let failed = |cause: io::Error| match cause.kind() {
        ErrorKind::NotFound => ReadError::Missing { path: path() },
        ErrorKind::IsADirectory => ReadError::Folder { path: path() },
        _ => ReadError::Failed { path: path(), cause },
    };
    let file = open_file(roots, place).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    let size = found.len();
    if size > MOST_BYTES {
        return Err(ReadError::TooLarge { path: path(), bytes: size });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // A file may grow while it is read, or not know its size.
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 {
        read if read > MOST_BYTES => Err(ReadError::TooLarge { path: path(), bytes: read }),
        _ => Ok((found, bytes)),
    }
}

fn show(
    place: &Path,
    bytes: &[u8],
    range: LineRange,
    path: impl Fn() -> String,
) -> Result<Content, ReadError> {
    let media = |mime: &str| match bytes.is_empty() {
        true => Content::Nothing(format!("{} is empty.", path())),
        false => Content::Media(Media {
            mime: mime.to_string(),
            data: MediaData::Base64(BASE64_STANDARD.encode(bytes)),
        }),
    };
    Ok(match detect_kind(place, &bytes[..bytes.len().min(SAMPLE)]) {
        FileKind::Text => Content::Lines(slice_lines(&decode_text(bytes).text, range)),
        FileKind::Svg if bytes.len() > MOST_SVG_BYTES => Content::Nothing(format!(
            "{} is not shown: as a drawing of {} MB it is too large to be read as text, which 1 MB may have.",
            path(),
            megabytes(bytes.len() as u64),
        )),
        FileKind::Svg => Content::Lines(whole(&decode_text(bytes).text)),
        FileKind::Image(mime) | FileKind::Audio(mime) | FileKind::Video(mime) => media(mime),
        FileKind::Pdf => media("application/pdf"),
        FileKind::UnsupportedAudio => return Err(ReadError::UnsupportedAudio { path: path() }),
        FileKind::Binary => Content::Nothing(format!("{} cannot be shown: it is no text.", path())),
    })
}

/// A drawing is of use only as a whole.
fn whole(text: &str) -> Slice {
    let text = text.replace("\r\n", "\n");
    let total = text.split('\n').count();
    Slice { text, first: 1, last: total, total, is_shortened: false }
}
