//! The figures that a provider reports for a call.

use serde::{Deserialize, Serialize};

use crate::TokenCount;

/// Token figures reported by a provider; one that it did not give is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens, including those read from and written to a cache.
    pub input: Option<TokenCount>,
    /// Output tokens, without hidden reasoning if the provider reports that separately.
    pub output: Option<TokenCount>,
    /// Input tokens read from a cache.
    pub cached: Option<TokenCount>,
    /// Input tokens written to a cache, if the provider charges for that.
    pub written: Option<TokenCount>,
    /// Those of the written ones that stay for an hour rather than minutes.
    pub written_hour: Option<TokenCount>,
    /// Tokens of hidden reasoning.
    pub thoughts: Option<TokenCount>,
    /// Tokens of tool use that the provider reports separately.
    pub tool: Option<TokenCount>,
    /// The provider's own total.
    pub total: Option<TokenCount>,
}

impl std::ops::Add for Usage {
    type Output = Self;

    /// The sum of two calls; a figure that neither gives stays unknown.
    fn add(self, other: Self) -> Self {
        let sum = |a: Option<TokenCount>, b: Option<TokenCount>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or_default() + b.unwrap_or_default()),
        };
        Self {
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
            cached: sum(self.cached, other.cached),
            written: sum(self.written, other.written),
            written_hour: sum(self.written_hour, other.written_hour),
            thoughts: sum(self.thoughts, other.thoughts),
            tool: sum(self.tool, other.tool),
            total: sum(self.total, other.total),
        }
    }
}

impl Usage {
    /// True if the provider gave no figure at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Separates hidden reasoning from the output, for providers that count it in.
    #[must_use]
    pub fn with_thoughts_apart(self) -> Self {
        let thoughts = self.thoughts.unwrap_or_default();
        Self { output: self.output.map(|all| all - thoughts), ..self }
    }
}
