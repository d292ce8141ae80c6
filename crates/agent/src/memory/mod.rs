//! Memory files in a session: the instructions they give, the tool that saves a fact, and the sub-agent that keeps them.

mod manager;
mod save_memory;
mod session_memory;

pub(crate) use manager::ManagedFiles;
pub use manager::MemoryManager;
pub use save_memory::SaveMemory;
pub(crate) use session_memory::Reloaded;
pub use session_memory::SessionMemory;
