//! The copy of a session on the server, one block at a time.

use std::io::{self, Read};
use std::sync::Arc;

use tokio_postgres::types::Type;

use super::connection::Connection;
use crate::error::ArchiveError;
use crate::source::BlockRef;

/// Reads the text of a session within the transaction that the connection is in.
pub(crate) struct RemoteText {
    connection: Arc<Connection>,
    rest: std::vec::IntoIter<BlockRef>,
    text: Vec<u8>,
    at: usize,
}

impl RemoteText {
    pub(crate) fn new(connection: Arc<Connection>, blocks: Vec<BlockRef>) -> Self {
        Self { connection, rest: blocks.into_iter(), text: Vec::new(), at: 0 }
    }

    fn block(&self, block: &BlockRef) -> Result<Vec<u8>, ArchiveError> {
        let damaged = || ArchiveError::Damaged { hash: block.hash.clone() };
        let query = "SELECT content FROM longhaul.block WHERE hash = $1";
        let rows = self.connection.query(query, &[(&block.hash, Type::TEXT)])?;
        let content: &[u8] = rows.first().ok_or_else(damaged)?.get(0);
        crate::blocks::unpack(content, block).ok_or_else(damaged)
    }
}

impl Read for RemoteText {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() {
            let Some(block) = self.rest.next() else { return Ok(0) };
            self.text = self.block(&block).map_err(io::Error::other)?;
            self.at = 0;
        }
        let count = into.len().min(self.text.len() - self.at);
        into[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
