//! The context window of a session.

use longhaul_conversation::{TokenCount, WindowSource, context_window};
use longhaul_formats::SessionInfo;

use crate::settings::Settings;

/// A context window, and where its size comes from.
#[derive(Clone, Copy, Debug)]
pub struct ContextWindow {
    /// The size in tokens.
    pub size: TokenCount,
    /// The origin of that size.
    pub(crate) source: WindowSource,
}

impl ContextWindow {
    /// Finds the window: from the flag, else the settings, else the session, else the table of models.
    pub fn find(flag: Option<TokenCount>, settings: &Settings, info: &SessionInfo) -> Self {
        let configured = || settings.window(info.model()?);
        let stated = flag.or_else(configured).or(info.window);
        let (size, source) = context_window(info.model(), stated);
        Self { size, source }
    }

    /// The model or assumption behind the size, to be put after it.
    pub fn whose(&self, info: &SessionInfo) -> String {
        match (self.source, info.model()) {
            (WindowSource::Stated, _) => String::new(),
            (WindowSource::Table, Some(model)) => format!(" ({model})"),
            (_, Some(model)) => format!(", assumed for {model}"),
            (_, None) => ", assumed: no model is named".into(),
        }
    }

    /// A stable word for where its size comes from.
    pub fn source_name(&self) -> &'static str {
        match self.source {
            WindowSource::Stated => "stated",
            WindowSource::Table => "model",
            WindowSource::Fallback => "fallback",
        }
    }
}
