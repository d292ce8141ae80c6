//! One lexer for command lines.
//!
//! [`parse_script`] takes a line apart as `bash` and `sh` would: every simple command, those inside substitutions and
//! here-documents included, with its words, redirects and documents. Commands that run others (`env`, `sh -c`, `xargs`,
//! `find -exec` …) are followed by those that they run. Nothing is expanded and nothing runs.
//!
//! The answer is *clear* or *unclear*. Clear: the shells run no other commands than those listed, whichever of the two
//! reads the line. Unclear, with the reason: something was not followed to its end (functions, `case`, arithmetic with
//! names), or the two shells would read it differently. A caller must not rely on the list then.
//!
//! [`EmbeddedCommands`] looks for commands in any other text, by guess.
//!
//! ```
//! use longhaul_shell::{Unclear, parse_script};
//!
//! let script = parse_script("git log | head -n 3 && env -i sh -c 'rm -r \"$1\"' sh src");
//! let programs: Vec<_> = script.commands.iter().filter_map(|command| command.program_name()).collect();
//! assert_eq!(programs, ["git", "head", "env", "sh", "rm"]);
//! assert_eq!(script.unclear, None);
//!
//! let script = parse_script("echo $((1<<2))");
//! assert_eq!(script.unclear, Some(Unclear::Arithmetic));
//!
//! let script = parse_script("curl example.com | sh");
//! assert_eq!(script.commands[1].unread, Some(Unclear::Input));
//! ```

mod embedded;
mod escapes;
mod lex;
mod parse;
mod programs;
mod script;
mod unclear;
mod wrapper;

pub use embedded::EmbeddedCommands;
pub use parse::parse_script;
pub use script::{
    CommandOrigin, HereDocument, Redirect, RedirectOperator, Separator, ShellScript, ShellWord,
    SimpleCommand, WordKind,
};
pub use unclear::Unclear;
pub use wrapper::{is_followed, is_wrapper};
