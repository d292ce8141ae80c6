//! A message a line over a server's streams. What is too long or no message is answered in the server's place, so that nobody
//! waits for it.

use std::io;
use std::sync::Arc;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

/// The longest message that is kept. Results beyond it would be cut to a few thousand tokens anyway.
pub(crate) const LONGEST_LINE: usize = 16 << 20;

/// So much of both ends of a message that is too long is looked through for its id.
const END: usize = 256;

/// After so many lines in a row that are no messages, a server is not one.
const MOST_GARBAGE: usize = 10_000;

/// A server's streams as a transport.
pub(crate) struct ServerLines<R, W> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// The end of a line that is too long to keep.
    tail: Option<Vec<u8>>,
    garbage: usize,
    output: Arc<Mutex<W>>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> ServerLines<R, W> {
    pub(crate) fn new(input: R, output: W) -> Self {
        let input = BufReader::with_capacity(64 * 1024, input);
        Self { input, line: Vec::new(), tail: None, garbage: 0, output: Arc::new(Mutex::new(output)) }
    }

    /// Reads on to the end of a line; `Ok(false)` at the end of the stream.
    async fn read_line(&mut self) -> io::Result<bool> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(false);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = &available[..end.map_or(available.len(), |end| end + 1)];
            let count = taken.len();
            match &mut self.tail {
                None => self.line.extend_from_slice(taken),
                Some(tail) => {
                    tail.extend_from_slice(&taken[taken.len().saturating_sub(END)..]);
                    let surplus = tail.len().saturating_sub(END);
                    tail.drain(..surplus);
                }
            }
            self.input.consume(count);
            if self.line.len() > LONGEST_LINE {
                self.tail = Some(self.line[self.line.len() - END..].to_vec());
                self.line.truncate(END);
                self.line.shrink_to_fit();
            }
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    async fn next(&mut self) -> io::Result<Option<ServerJsonRpcMessage>> {
        while self.garbage < MOST_GARBAGE && self.read_line().await? {
            let line = std::mem::take(&mut self.line);
            let message = match self.tail.take() {
                Some(tail) => {
                    let id = find_id(&String::from_utf8_lossy(&line))
                        .or_else(|| find_id(&String::from_utf8_lossy(&tail)));
                    let limit = LONGEST_LINE >> 20;
                    id.and_then(|id| {
                        failure(
                            &id,
                            &format!("its answer is longer than {limit} MB, which is too much to take"),
                        )
                    })
                }
                None if line.trim_ascii().is_empty() => continue,
                None => parse(&line),
            };
            match message {
                Some(message) => {
                    self.garbage = 0;
                    return Ok(Some(message));
                }
                None => self.garbage += 1,
            }
        }
        Ok(None)
    }
}

/// A message, or the failure of the request that a broken one answers.
pub(crate) fn parse(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let text = String::from_utf8_lossy(line);
            let ends = [
                &text[..text.floor_char_boundary(END)],
                &text[text.ceil_char_boundary(text.len().saturating_sub(END))..],
            ];
            let id = ends.into_iter().find_map(find_id).filter(|_| text.trim_start().starts_with('{'))?;
            return failure(&id, &format!("its answer is broken: {error}"));
        }
    };
    let is_answer = value.get("method").is_none();
    let id = value.get("id").cloned();
    match serde_json::from_value(value) {
        Ok(message) => Some(message),
        Err(error) => {
            failure(&id.filter(|_| is_answer)?, &format!("its answer does not follow the protocol: {error}"))
        }
    }
}

/// The answer to a request in place of one that cannot be taken.
pub(crate) fn failure(id: &Value, reason: &str) -> Option<ServerJsonRpcMessage> {
    let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": reason}});
    serde_json::from_value(error).ok()
}

/// The id that a message names in this piece of it. Ours are numbers.
fn find_id(piece: &str) -> Option<Value> {
    let (_, rest) = piece.split_once("\"id\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u64>().ok().map(Value::from)
}

impl<R, W> Transport<RoleClient> for ServerLines<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut output = output.lock().await;
            output.write_all(&line).await?;
            output.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.next().await.ok().flatten()
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn received(bytes: &[u8]) -> Vec<Value> {
        let mut lines = ServerLines::new(bytes, tokio::io::sink());
        let mut messages = Vec::new();
        while let Some(message) = lines.receive().await {
            messages.push(serde_json::to_value(&message).expect("JSON"));
        }
        messages
    }

    #[tokio::test]
    async fn noise_is_passed_over_and_broken_answers_fail_their_request() {
        let deep =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}{}}}\n", "[".repeat(500), "]".repeat(500));
        let text = [
            "Server started on stdio\n\n",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[{\"name\"\n",
            &deep,
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":\"no\"}\n",
        ]
        .concat();
        let messages = received(text.as_bytes()).await;
        let ids: Vec<u64> =
            messages.iter().map(|message| message["id"].as_u64().expect("a number")).collect();
        assert_eq!(ids, [1, 2, 4, 5]);
        assert!(messages[1..].iter().all(|message| message["error"]["message"].is_string()), "{messages:?}");
    }

    #[tokio::test]
    async fn an_answer_of_a_hundred_megabytes_fails_its_request_alone() {
        let filler = "x".repeat(100 << 20);
        for line in [
            format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{\"text\":\"{filler}\"}}}}\n"),
            format!("{{\"result\":{{\"text\":\"{filler}\"}},\"id\":7,\"jsonrpc\":\"2.0\"}}\n"),
        ] {
            let messages =
                received(&[line.as_bytes(), b"{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}\n"].concat())
                    .await;
            assert_eq!((messages[0]["id"].as_u64(), messages[1]["id"].as_u64()), (Some(7), Some(8)));
            assert!(
                messages[0]["error"]["message"].as_str().expect("a reason").contains("longer than 16 MB")
            );
        }
    }

    #[tokio::test]
    async fn a_flood_of_garbage_ends() {
        let messages = received("garbage\n".repeat(MOST_GARBAGE).as_bytes()).await;
        assert!(messages.is_empty());
    }
}
