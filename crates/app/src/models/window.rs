//! The context window of a session.

use longhaul_conversation::{TokenCount, WindowSource, context_window, window_for};
use longhaul_engine::CalibrationFile;
use longhaul_formats::SessionInfo;
use longhaul_workspace::Home;

use crate::environment;
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
    /// Finds the window: from the flag, else the settings, else the session, else the table of models. What the user states
    /// wins; otherwise a window is never smaller than what the provider `counted` for a request.
    pub fn find(
        flag: Option<TokenCount>,
        settings: &Settings,
        info: &SessionInfo,
        counted: Option<TokenCount>,
    ) -> Self {
        let configured = || settings.window(info.model()?);
        if let Some(size) = flag.or_else(configured) {
            return Self { size, source: WindowSource::Stated };
        }
        let (size, source) = context_window(info.model(), info.window);
        match counted {
            Some(counted) if counted > size => {
                Self { size: window_for(counted), source: WindowSource::Counted }
            }
            _ => Self { size, source },
        }
    }

    /// The window, but no larger than this.
    pub fn at_most(self, size: TokenCount) -> Self {
        Self { size: self.size.min(size), ..self }
    }

    /// The model or assumption behind the size, to be put after it.
    pub fn whose(&self, info: &SessionInfo) -> String {
        match (self.source, info.model()) {
            (WindowSource::Stated | WindowSource::Server, _) => String::new(),
            (WindowSource::Table, Some(model)) => format!(" ({model})"),
            (WindowSource::Counted, _) => ", raised to what the provider counted".into(),
            (_, Some(model)) => format!(", assumed for {model} (--window sets it)"),
            (_, None) => ", assumed: no model is named (--window sets it)".into(),
        }
    }

    /// A stable word for where its size comes from.
    pub fn source_name(&self) -> &'static str {
        match self.source {
            WindowSource::Stated => "stated",
            WindowSource::Table => "model",
            WindowSource::Server => "server",
            WindowSource::Counted => "counted",
            WindowSource::Fallback => "fallback",
        }
    }
}

/// The factor by which an estimate must be multiplied to come near to what this model's provider counts, as far as sessions
/// with it have taught that.
pub fn known_scale(settings: &Settings, model: Option<&str>) -> f64 {
    let home = environment::home(&environment::of_process()).ok().flatten();
    let learned = home.zip(model).and_then(|(home, model)| {
        let known = calibration_file(&home).load().ok()?;
        known.knows(model).then(|| known.estimator(model))
    });
    learned
        .map_or(1.0, |learned| settings.estimator().weights.chars_per_token / learned.weights.chars_per_token)
}

/// The file that holds what was learned about models' ways of counting.
pub(crate) fn calibration_file(home: &Home) -> CalibrationFile {
    CalibrationFile::at(home.root().join("longhaul").join("calibration.json"))
}
