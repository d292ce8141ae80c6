//! The model that writes snapshots.

use std::sync::Arc;

use longhaul_compaction::Draft;
use longhaul_conversation::Consumption;
use longhaul_engine::{
    BoxFuture, ByModel, Offline, Spend, Summariser, SummariserKind, SummaryError, SummaryTask,
};
use longhaul_providers::{Prices, Rates, compressor_for};
use longhaul_wire::WireFormat;

use super::{ChosenModel, Models, SessionModels, explained};

/// The model for snapshots: the requested one, else that of the settings for snapshots, else the conversation's; Gemini's models
/// have others that compress for them.
pub fn compaction_model(
    models: &Models<'_>,
    asked: Option<&str>,
    session: &SessionModels,
) -> anyhow::Result<ChosenModel> {
    if let Some(named) = asked.or(models.settings.compaction_model()) {
        return models.choose(named).map_err(explained);
    }
    let own = models.choose_for_talk(None, session)?;
    if own.http.provider().format != WireFormat::Gemini {
        return Ok(own);
    }
    let (_, compressor) = compressor_for(&own.name);
    if compressor == own.name {
        return Ok(own);
    }
    models.choose(&format!("{}/{compressor}", own.provider())).map_err(explained)
}

/// A summariser that asks this model and knows what it costs.
pub fn priced(chosen: &ChosenModel) -> ByModel<'_> {
    let prices = chosen.prices.map(|Prices { usual: Rates { input, cached, writing, output }, .. }| {
        longhaul_engine::Prices {
            input: input.as_dollars(),
            cached: cached.unwrap_or(input).as_dollars(),
            written: writing.map_or(input, |writing| writing.minutes).as_dollars(),
            output: output.as_dollars(),
        }
    });
    ByModel { prices, ..ByModel::new(&chosen.http, &chosen.name, chosen.window) }
}

/// The writer of snapshots: a model, or Longhaul itself.
#[derive(Clone, Debug, Default)]
pub struct SnapshotWriter(pub Option<ChosenModel>);

impl Summariser for SnapshotWriter {
    fn kind(&self) -> SummariserKind {
        if self.0.is_some() { SummariserKind::Model } else { SummariserKind::Offline }
    }

    fn model(&self) -> Option<&str> {
        self.0.as_ref().map(|chosen| chosen.name.as_str())
    }

    fn summarise<'a>(&'a self, task: &'a SummaryTask<'a>) -> BoxFuture<'a, Result<Draft, SummaryError>> {
        match &self.0 {
            Some(chosen) => Box::pin(async move { priced(chosen).summarise(task).await }),
            None => Offline.summarise(task),
        }
    }

    fn detached(&self) -> Option<Arc<dyn Summariser>> {
        self.0.is_some().then(|| Arc::new(self.clone()) as Arc<dyn Summariser>)
    }

    fn spend(&self, consumed: &Consumption) -> Spend {
        self.0.as_ref().map_or_else(|| Offline.spend(consumed), |chosen| priced(chosen).spend(consumed))
    }
}
