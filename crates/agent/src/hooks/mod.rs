//! The user's hooks in a turn: running them, and the form in which they see requests and answers.

mod model_form;
mod runner;

pub(crate) use model_form::{
    apply_request, choose_tools, decode_response, encode_request, encode_response, rewrite, text_of,
};
pub use runner::HookPoints;
pub(crate) use runner::HookRunner;
