//! Compressed bodies: read for ourselves, within a limit. What is passed on stays as it came.

use std::io::Read;

use hyper::header::{CONTENT_ENCODING, HeaderMap};
use miniz_oxide::DataFormat;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{MZError, MZFlush, MZStatus};

/// A compression of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Encoding {
    /// The compression that headers name; none if it is one that is not known, or several.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(CONTENT_ENCODING).iter();
        let Some(value) = values.next() else { return Some(Self::Identity) };
        if values.next().is_some() {
            return None;
        }
        Some(match value.to_str().ok()?.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Self::Identity,
            "gzip" | "x-gzip" => Self::Gzip,
            "deflate" => Self::Deflate,
            "br" => Self::Brotli,
            "zstd" => Self::Zstd,
            _ => return None,
        })
    }

    /// The bytes without compression, up to a limit; as far as they go where the end is missing. None if they are garbage from
    /// the start or longer than the limit.
    pub(crate) fn decode(self, bytes: &[u8], limit: usize) -> Option<Vec<u8>> {
        match self {
            Self::Identity => (bytes.len() <= limit).then(|| bytes.to_vec()),
            Self::Gzip => inflate_all(gzip_content(bytes)?, DataFormat::Raw, limit),
            // Most write zlib's form, some the bare one.
            Self::Deflate => inflate_all(bytes, DataFormat::Zlib, limit)
                .or_else(|| inflate_all(bytes, DataFormat::Raw, limit)),
            Self::Brotli => read_all(brotli_decompressor::Decompressor::new(bytes, 8 << 10), limit),
            Self::Zstd => read_all(ruzstd::decoding::StreamingDecoder::new(bytes).ok()?, limit),
        }
    }
}

fn read_all(mut reader: impl Read, limit: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut piece = [0; 16 << 10];
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return Some(out),
            Ok(count) if out.len() + count > limit => return None,
            Ok(count) => out.extend_from_slice(&piece[..count]),
            Err(_) => return (!out.is_empty()).then_some(out),
        }
    }
}

fn inflate_all(mut bytes: &[u8], format: DataFormat, limit: usize) -> Option<Vec<u8>> {
    let mut state = InflateState::new_boxed(format);
    let mut out = Vec::new();
    let mut piece = vec![0; 32 << 10];
    loop {
        let step = inflate(&mut state, bytes, &mut piece, MZFlush::None);
        bytes = &bytes[step.bytes_consumed..];
        if out.len() + step.bytes_written > limit {
            return None;
        }
        out.extend_from_slice(&piece[..step.bytes_written]);
        match step.status {
            Ok(MZStatus::StreamEnd) => return Some(out),
            Ok(_) if step.bytes_consumed > 0 || step.bytes_written > 0 => {}
            // The end is missing.
            Ok(_) | Err(MZError::Buf) => return (!out.is_empty()).then_some(out),
            Err(_) => return None,
        }
    }
}

/// The data behind the header of a gzip file.
fn gzip_content(bytes: &[u8]) -> Option<&[u8]> {
    const NAMED: u8 = 8;
    const COMMENTED: u8 = 16;
    const EXTRA: u8 = 4;
    const CHECKED: u8 = 2;
    let &[0x1f, 0x8b, 8, flags, _, _, _, _, _, _, ref rest @ ..] = bytes else { return None };
    let mut rest: &[u8] = rest;
    if flags & EXTRA != 0 {
        let &[low, high, ref after @ ..] = rest else { return None };
        rest = after.get(usize::from(u16::from_le_bytes([low, high]))..)?;
    }
    for flag in [NAMED, COMMENTED] {
        if flags & flag != 0 {
            rest = &rest[memchr::memchr(0, rest)? + 1..];
        }
    }
    if flags & CHECKED != 0 { rest.get(2..) } else { Some(rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"{\"messages\":[]}";
    /// The text, by brotli and zstd.
    const BROTLI: &str = "0b07807b226d65737361676573223a5b5d7d03";
    const ZSTD: &str = "28b52ffd00587900007b226d65737361676573223a5b5d7d";

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
    }

    #[track_caller]
    fn check(name: &str, body: &[u8]) {
        let headers = [(CONTENT_ENCODING, name.parse().expect("a header"))].into_iter().collect();
        let encoding = Encoding::of(&headers).expect("a known encoding");
        assert_eq!(encoding.decode(body, 100).as_deref(), Some(TEXT), "{name}");
        assert_eq!(encoding.decode(body, 10), None, "{name} beyond the limit");
        assert!(
            encoding
                .decode(b"\x00garbage", 100)
                .is_none_or(|out| encoding == Encoding::Identity || out != TEXT)
        );
    }

    #[test]
    fn every_usual_compression_is_read() {
        check("identity", TEXT);
        check("br", &bytes(BROTLI));
        check("zstd", &bytes(ZSTD));
        check("deflate", &miniz_oxide::deflate::compress_to_vec_zlib(TEXT, 6));
        check("deflate", &miniz_oxide::deflate::compress_to_vec(TEXT, 6));
        let mut gzip = bytes("1f8b08080000000000036100");
        gzip.extend(miniz_oxide::deflate::compress_to_vec(TEXT, 6));
        check("gzip", &gzip);
    }

    #[test]
    fn what_is_not_known_is_left_alone() {
        let of = |values: &[&str]| {
            let headers = values.iter().map(|value| (CONTENT_ENCODING, value.parse().expect("a header")));
            let mut map = HeaderMap::new();
            headers.for_each(|(name, value)| {
                map.append(name, value);
            });
            Encoding::of(&map)
        };
        assert_eq!(of(&[]), Some(Encoding::Identity));
        assert_eq!((of(&["lzma"]), of(&["gzip, br"]), of(&["gzip", "br"])), (None, None, None));
    }
}
