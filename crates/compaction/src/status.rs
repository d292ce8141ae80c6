//! Status of an attempt to shorten a conversation.

use std::fmt;

use serde::{Serialize, Serializer};

/// Status of an attempt to shorten a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Older messages gave way to a snapshot.
    Compressed,
    /// Old tool outputs gave way to previews.
    Masked,
    /// The result would not have been smaller.
    FailedInflated,
    /// An exact count was required and failed.
    FailedTokenCount,
    /// No summary came about that could be used; the reason says why.
    FailedEmptySummary,
    /// There was nothing to do, or nothing to gain.
    Noop,
    /// Only tool outputs were shortened.
    ContentTruncated,
    /// More had to be given up than a compaction usually does, so that the request fits.
    LastResort,
    /// Somebody stopped it.
    Cancelled,
    /// The parts that cannot be given up are larger than the window.
    DoesNotFit,
}

impl Status {
    /// The stable word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compressed => "compressed",
            Self::Masked => "masked",
            Self::FailedInflated => "failed_inflated",
            Self::FailedTokenCount => "failed_token_count",
            Self::FailedEmptySummary => "failed_empty_summary",
            Self::Noop => "noop",
            Self::ContentTruncated => "content_truncated",
            Self::LastResort => "last_resort",
            Self::Cancelled => "cancelled",
            Self::DoesNotFit => "does_not_fit",
        }
    }

    /// Tells whether the conversation is another one now.
    pub fn is_change(self) -> bool {
        matches!(self, Self::Compressed | Self::Masked | Self::ContentTruncated | Self::LastResort)
    }

    /// Tells whether the attempt was in vain, so that the same should not be tried again and again.
    pub fn is_failure(self) -> bool {
        matches!(
            self,
            Self::FailedInflated | Self::FailedTokenCount | Self::FailedEmptySummary | Self::DoesNotFit
        )
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
