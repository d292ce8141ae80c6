//! The approval mode: which calls need the user's approval.

use std::fmt;

use crate::PolicyError;

/// The approval mode: which calls need the user's approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ApprovalMode {
    /// Reads run freely; edits and other commands need approval.
    #[default]
    Default,
    /// Edits run freely too.
    AutoEdit,
    /// Everything runs unless a rule of the user, the workspace or the administrator forbids it.
    Yolo,
    /// Read-only, for planning.
    Plan,
}

impl ApprovalMode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::Default, Self::AutoEdit, Self::Yolo, Self::Plan];

    /// Reads a mode as rules write it (`autoEdit`) or as the command line does (`auto-edit`, `auto_edit`).
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "default" => Some(Self::Default),
            "autoEdit" | "auto-edit" | "auto_edit" => Some(Self::AutoEdit),
            "yolo" => Some(Self::Yolo),
            "plan" => Some(Self::Plan),
            _ => None,
        }
    }

    /// The name of the mode in rules.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AutoEdit => "autoEdit",
            Self::Yolo => "yolo",
            Self::Plan => "plan",
        }
    }

    /// True if the mode lets things happen unasked that the default mode would ask for.
    pub(crate) fn is_privileged(self) -> bool {
        matches!(self, Self::AutoEdit | Self::Yolo)
    }

    /// The same mode, if it may be used in a folder that is trusted or not.
    ///
    /// # Errors
    /// [`PolicyError::NeedsTrust`] for a privileged mode in a folder without trust.
    pub fn in_folder(self, is_trusted: bool) -> Result<Self, PolicyError> {
        if self.is_privileged() && !is_trusted {
            return Err(PolicyError::NeedsTrust { mode: self });
        }
        Ok(self)
    }
}

impl fmt::Display for ApprovalMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_read_as_it_is_written() {
        for mode in ApprovalMode::ALL {
            assert_eq!(ApprovalMode::parse(mode.name()), Some(mode));
        }
        assert_eq!(ApprovalMode::parse("auto-edit"), Some(ApprovalMode::AutoEdit));
        assert_eq!(ApprovalMode::parse("YOLO"), None);
    }

    #[test]
    fn privileged_modes_need_trust() {
        for mode in ApprovalMode::ALL {
            assert_eq!(mode.in_folder(true).ok(), Some(mode));
            let is_refused = matches!(mode, ApprovalMode::AutoEdit | ApprovalMode::Yolo);
            assert_eq!(mode.in_folder(false).is_err(), is_refused, "{mode}");
        }
    }
}
