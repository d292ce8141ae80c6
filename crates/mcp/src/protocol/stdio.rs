//! A message a line over two streams. What is no message is answered by the protocol's error and passed over.

use std::io;
use std::sync::Arc;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::message::{INVALID_REQUEST, LONGEST_MESSAGE, parse, refusal};

/// Two streams as a transport.
pub(super) struct LineTransport<R, W> {
    input: BufReader<R>,
    /// The line so far. Reading may be interrupted between any two pieces of it.
    line: Vec<u8>,
    /// True while the rest of a line that is too long is passed over.
    is_skipping: bool,
    /// True once there was a request: before it, nothing else may reach the library, which would end.
    has_begun: bool,
    output: Arc<Mutex<W>>,
    /// Cancelled once an answer could not be written: who reads no answers is gone, even if the other stream is still open.
    lost: CancellationToken,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> LineTransport<R, W> {
    pub(super) fn new(input: R, output: W) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            is_skipping: false,
            has_begun: false,
            output: Arc::new(Mutex::new(output)),
            lost: CancellationToken::new(),
        }
    }

    /// Reads on to the end of a line; `Ok(false)` at the end of the stream.
    async fn read_line(&mut self) -> io::Result<bool> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(false);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            if !self.is_skipping {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.input.consume(taken);
            if self.line.len() > LONGEST_MESSAGE {
                self.line.clear();
                self.is_skipping = true;
            }
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// The next message; `None` when the client is gone.
    async fn next(&mut self) -> io::Result<Option<ClientJsonRpcMessage>> {
        while self.read_line().await? {
            let line = std::mem::take(&mut self.line);
            let parsed = match std::mem::take(&mut self.is_skipping) {
                true => Err(refusal(&Value::Null, INVALID_REQUEST, "the message is longer than 4 MB")),
                false if line.trim_ascii().is_empty() => continue,
                false => parse(&line),
            };
            match parsed {
                Ok(message) => {
                    self.has_begun |= matches!(message, ClientJsonRpcMessage::Request(_));
                    if self.has_begun {
                        return Ok(Some(message));
                    }
                }
                Err(refusal) => write_line(&self.output, &refusal).await?,
            }
        }
        Ok(None)
    }
}

async fn write_line<W: AsyncWrite + Unpin>(
    output: &Mutex<W>,
    value: &impl serde::Serialize,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (output, lost) = (Arc::clone(&self.output), self.lost.clone());
        async move { write_line(&output, &item).await.inspect_err(|_| lost.cancel()) }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        // A stream that fails is a client that is gone.
        let lost = self.lost.clone();
        lost.run_until_cancelled(self.next()).await?.ok().flatten()
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.flush().await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn who_reads_no_answers_is_gone() {
        let (input, _open) = tokio::io::duplex(64);
        let (output, closed) = tokio::io::duplex(64);
        drop(closed);
        let mut transport = LineTransport::new(input, output);
        let answer = serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": {}});
        let answer: ServerJsonRpcMessage = serde_json::from_value(answer).expect("an answer");
        assert!(transport.send(answer).await.is_err());
        let received = tokio::time::timeout(Duration::from_secs(60), transport.receive()).await;
        assert!(received.expect("it waits for nobody").is_none());
    }
}
