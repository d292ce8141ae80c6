//! The pipe that a command writes both its streams to, so that their order is kept.

use std::io::{self, PipeReader, PipeWriter};

use tokio::process::Command;

/// The read end.
#[derive(Debug)]
pub(super) struct Pipe {
    #[cfg(unix)]
    receiver: tokio::net::unix::pipe::Receiver,
    #[cfg(not(unix))]
    receiver: tokio::sync::mpsc::Receiver<Vec<u8>>,
}

/// The write end.
pub(super) struct PipeInput(PipeWriter);

/// Creates a pipe.
///
/// # Errors
/// The error of the system.
pub(super) fn pipe() -> io::Result<(PipeInput, Pipe)> {
    let (reader, writer) = io::pipe()?;
    Ok((PipeInput(writer), Pipe::new(reader)?))
}

impl PipeInput {
    /// Connects a command's streams to the pipe.
    ///
    /// # Errors
    /// The error of the system.
    pub(super) fn connect(&self, command: &mut Command) -> io::Result<()> {
        command.stdout(self.0.try_clone()?).stderr(self.0.try_clone()?);
        Ok(())
    }
}

#[cfg(unix)]
impl Pipe {
    fn new(reader: PipeReader) -> io::Result<Self> {
        let receiver = tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into())?;
        Ok(Self { receiver })
    }

    /// Waits for data and appends it to `buffer`; false at the end. Cancel-safe.
    pub(super) async fn read(&mut self, buffer: &mut Vec<u8>) -> bool {
        loop {
            if self.receiver.readable().await.is_err() {
                return false;
            }
            match self.receiver.try_read_buf(buffer) {
                Ok(count) => return count > 0,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return false,
            }
        }
    }
}

#[cfg(not(unix))]
impl Pipe {
    /// Reads the pipe on a thread, which ends with the pipe or when the receiver is dropped.
    fn new(mut reader: PipeReader) -> io::Result<Self> {
        let (sender, receiver) = tokio::sync::mpsc::channel(4);
        std::thread::Builder::new().name("command output".into()).spawn(move || {
            let mut buffer = vec![0; 16 << 10];
            while let Ok(count) = io::Read::read(&mut reader, &mut buffer)
                && count > 0
                && sender.blocking_send(buffer[..count].to_vec()).is_ok()
            {}
        })?;
        Ok(Self { receiver })
    }

    /// Waits for data and appends it to `buffer`; false at the end. Cancel-safe.
    pub(super) async fn read(&mut self, buffer: &mut Vec<u8>) -> bool {
        match self.receiver.recv().await {
            Some(bytes) => {
                buffer.extend_from_slice(&bytes);
                true
            }
            None => false,
        }
    }
}
