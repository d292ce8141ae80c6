//! Memory files in a session: the instructions they give, the tool that saves a fact, and the sub-agent that keeps them.

mod manager;
mod save_memory;
mod session_memory;

pub use manager::MemoryManager;
pub(crate) use manager::{MANAGER_GUIDANCE, Store};
pub use save_memory::SaveMemory;
pub use session_memory::SessionMemory;
