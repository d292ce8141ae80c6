//! Keeps what was learned about each model's way of counting, across sessions and programs.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use longhaul_compaction::{BASE_WEIGHTS, Calibration, CalibrationSettings, Observation, base_units};
use longhaul_conversation::{Estimate, Estimator};
use longhaul_conversation::{Message, TokenCount};
use longhaul_workspace::{Lock, LockTimeout, write_private_atomically};

use crate::EngineError;

/// One private file that all sessions share.
#[derive(Clone, Debug)]
pub struct CalibrationFile {
    path: PathBuf,
}

impl CalibrationFile {
    /// The file at `path`, which need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Loads what was learned so far. What cannot be understood counts for nothing: it is learned again.
    ///
    /// # Errors
    /// [`EngineError::Calibration`] where the file is there and cannot be read.
    pub fn load(&self) -> Result<Calibration, EngineError> {
        match fs::read(&self.path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Calibration::default()),
            Err(cause) => Err(EngineError::Calibration { path: self.path.clone(), cause }),
        }
    }

    /// Learns from one request, together with all others who do so, and gives back what is known then.
    ///
    /// # Errors
    /// [`EngineError::Calibration`] or [`EngineError::Workspace`] where the file cannot be locked, read or written.
    pub fn learn(
        &self,
        model: &str,
        seen: Observation,
        settings: &CalibrationSettings,
        timeout: LockTimeout,
    ) -> Result<Calibration, EngineError> {
        let _lock = Lock::beside(&self.path, "updating the token calibration", timeout)?;
        let mut calibration = self.load()?;
        calibration.observe(model, seen, settings);
        let text = serde_json::to_vec(&calibration).expect("numbers by name can be written");
        write_private_atomically(&self.path, &text)?;
        Ok(calibration)
    }
}

/// Makes an observation of a request: its messages as the uncorrected estimate sees them, and what the provider reported.
pub fn observe_request(messages: &[Message], reported: TokenCount, overhead: TokenCount) -> Observation {
    let estimator = Estimator { weights: BASE_WEIGHTS, ..Estimator::default() };
    let content: Estimate = messages.iter().map(|message| estimator.message(message)).sum();
    Observation { base: base_units(content, messages.len()), reported, overhead }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Part, Role};

    fn seen() -> Observation {
        let message = Message::new("m", Role::User, vec![Part::user_text("x".repeat(285))]);
        observe_request(&[message], TokenCount(90), TokenCount(40))
    }

    fn learn(file: &CalibrationFile) -> Calibration {
        file.learn("m", seen(), &CalibrationSettings::default(), LockTimeout::default())
            .expect("it can be written")
    }

    #[test]
    fn what_one_session_learned_another_knows() {
        let home = tempfile::tempdir().expect("a folder");
        let file = CalibrationFile::at(home.path().join("home/calibration.json"));
        assert_eq!(file.load().expect("nothing yet"), Calibration::default());
        assert!((learn(&file).multiplier("m") - 0.9).abs() < 1e-9);
        let again = CalibrationFile::at(home.path().join("home/calibration.json"));
        assert!((again.load().expect("it is there").multiplier("m") - 0.9).abs() < 1e-9);
        assert!(learn(&again).multiplier("m") < 0.9);
    }

    #[test]
    fn a_broken_file_is_learned_again() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("calibration.json");
        fs::write(&path, "{\"m\": tru").expect("a file");
        let file = CalibrationFile::at(&path);
        assert_eq!(file.load().expect("it counts for nothing"), Calibration::default());
        learn(&file);
        assert!(file.load().expect("it is whole again").knows("m"));
    }

    #[test]
    fn two_who_learn_at_once_lose_nothing() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("calibration.json");
        std::thread::scope(|scope| {
            for model in ["a", "b", "c", "d"] {
                let file = CalibrationFile::at(&path);
                scope.spawn(move || {
                    for _ in 0..5 {
                        let settings = CalibrationSettings::default();
                        file.learn(model, seen(), &settings, LockTimeout::default())
                            .expect("it waits its turn");
                    }
                });
            }
        });
        let known = CalibrationFile::at(&path).load().expect("it is there");
        assert!(["a", "b", "c", "d"].iter().all(|model| known.multiplier(model) < 0.8));
    }
}
