//! What a provider says one call consumed.

use serde::{Deserialize, Serialize};

use crate::TokenCount;

/// Token figures reported by a provider; a figure it did not give is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request, those from and for a cache included.
    pub input: Option<TokenCount>,
    /// Tokens of the answer, without hidden reasoning where the provider tells it apart.
    pub output: Option<TokenCount>,
    /// Tokens of the request that came from a cache.
    pub cached: Option<TokenCount>,
    /// Tokens of the request that were written to a cache, where the provider charges for that.
    pub written: Option<TokenCount>,
    /// Those of the written ones that stay for an hour rather than minutes.
    pub written_hour: Option<TokenCount>,
    /// Tokens of hidden reasoning.
    pub thoughts: Option<TokenCount>,
    /// Tokens of tool use that the provider reports apart.
    pub tool: Option<TokenCount>,
    /// The provider's own total.
    pub total: Option<TokenCount>,
}

impl std::ops::Add for Usage {
    type Output = Self;

    /// What two calls consumed together; a figure that neither gives stays unknown.
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
    /// Whether the provider gave no figure at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same figures, where a provider counts hidden reasoning with the answer.
    #[must_use]
    pub fn with_thoughts_apart(self) -> Self {
        let thoughts = self.thoughts.unwrap_or_default();
        Self { output: self.output.map(|all| all - thoughts), ..self }
    }
}
