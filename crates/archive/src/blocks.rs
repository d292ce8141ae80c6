//! Blocks: compressed pieces of sessions, each in a file named by the hash of its text.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use longhaul_workspace::create_private_atomically;

use crate::error::ArchiveError;
use crate::source::BlockRef;

/// The folder of blocks.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    folder: PathBuf,
}

impl Blocks {
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn path(&self, hash: &str) -> PathBuf {
        let (start, rest) = hash.split_at(hash.len().min(2));
        self.folder.join(start).join(format!("{rest}.lz4"))
    }

    /// Writes a block, unless it is there.
    pub(crate) fn write(&self, text: &[u8]) -> Result<BlockRef, ArchiveError> {
        let hash = blake3::hash(text).to_hex().to_string();
        let path = self.path(&hash);
        if !path.exists() {
            create_private_atomically(&path, &lz4_flex::compress_prepend_size(text))?;
        }
        Ok(BlockRef { hash, bytes: text.len() as u64 })
    }

    /// The text of a block.
    pub(crate) fn read(&self, block: &BlockRef) -> Result<Vec<u8>, ArchiveError> {
        let path = self.path(&block.hash);
        let damaged = || ArchiveError::Damaged { hash: block.hash.clone() };
        let bytes = fs::read(&path).map_err(|cause| ArchiveError::file("read", &path, cause))?;
        unpack(&bytes, block).ok_or_else(damaged)
    }

    /// Removes the blocks that no session has; their number and the room they took.
    pub(crate) fn remove_unused(&self, used: &HashSet<String>) -> Result<(usize, u64), ArchiveError> {
        let mut removed = (0, 0);
        self.each(&mut |path, hash, size| {
            if !used.contains(hash) {
                fs::remove_file(path)?;
                removed.0 += 1;
                removed.1 += size;
            }
            Ok(())
        })?;
        Ok(removed)
    }

    /// The room that the blocks take on disk.
    pub(crate) fn room(&self) -> Result<u64, ArchiveError> {
        let mut room = 0;
        self.each(&mut |_, _, size| {
            room += size;
            Ok(())
        })?;
        Ok(room)
    }

    fn each(&self, take: &mut dyn FnMut(&Path, &str, u64) -> io::Result<()>) -> Result<(), ArchiveError> {
        let failed = |cause| ArchiveError::file("go through", &self.folder, cause);
        let folders = match fs::read_dir(&self.folder) {
            Ok(folders) => folders,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        for folder in folders {
            let folder = folder.map_err(failed)?.path();
            let start = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            for file in fs::read_dir(&folder).into_iter().flatten() {
                let file = file.map_err(failed)?;
                let name = file.file_name().to_string_lossy().into_owned();
                let size = file.metadata().map_err(failed)?.len();
                if let Some(rest) = name.strip_suffix(".lz4") {
                    take(&file.path(), &format!("{start}{rest}"), size).map_err(failed)?;
                }
            }
        }
        Ok(())
    }
}

/// The text of a compressed block; none if it is damaged.
pub(crate) fn unpack(bytes: &[u8], block: &BlockRef) -> Option<Vec<u8>> {
    // The size comes from the log: a damaged block cannot ask for more.
    let size = bytes.get(..4).and_then(|size| size.try_into().ok()).map(u32::from_le_bytes);
    if size.map(u64::from) != Some(block.bytes) {
        return None;
    }
    let text = lz4_flex::decompress_size_prepended(bytes).ok()?;
    (blake3::hash(&text).to_hex().as_str() == block.hash).then_some(text)
}

/// Reads the text of a session, one block at a time.
pub(crate) struct BlockReader<'a> {
    blocks: &'a Blocks,
    rest: std::slice::Iter<'a, BlockRef>,
    text: Vec<u8>,
    at: usize,
}

impl<'a> BlockReader<'a> {
    pub(crate) fn new(blocks: &'a Blocks, refs: &'a [BlockRef]) -> Self {
        Self { blocks, rest: refs.iter(), text: Vec::new(), at: 0 }
    }
}

impl Read for BlockReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() {
            let Some(block) = self.rest.next() else { return Ok(0) };
            self.text = self.blocks.read(block).map_err(io::Error::other)?;
            self.at = 0;
        }
        let count = into.len().min(self.text.len() - self.at);
        into[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
