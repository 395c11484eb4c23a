//! A run on disk: resumable state, best weights, learning curve.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use burn::module::Module;
use burn::optim::ModuleOptimizer;
use litecast_trainer::commit::commit;
use serde::{Deserialize, Serialize};

use crate::curve::CurveRow;
use crate::gnn::network::GraphNetwork;
use crate::settings::Settings;
use crate::training_data::Data;

/// The state that a run needs to resume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Settings of the run.
    pub settings: Settings,
    /// [`Data::training_sha256`].
    pub training_sha256: String,
    /// Commit of the working tree at the start of the run.
    #[serde(default)]
    pub commit: Option<String>,
    /// Epochs done.
    pub epoch: usize,
    /// Epoch with the lowest error on the validation graphs, from 1; 0 before the first.
    pub best_epoch: usize,
    /// Mean absolute percentage error of that epoch on the validation graphs.
    pub best_mape: f64,
    /// Seconds of training so far, over all sessions.
    pub wall_time_s: f64,
    /// One row for each epoch so far.
    pub curve: Vec<CurveRow>,
}

impl Progress {
    /// The state before the first epoch.
    pub fn new(settings: &Settings, data: &Data) -> Self {
        Self {
            settings: settings.clone(),
            training_sha256: data.training_sha256(),
            commit: commit(),
            epoch: 0,
            best_epoch: 0,
            best_mape: f64::MAX,
            wall_time_s: 0.0,
            curve: Vec::new(),
        }
    }

    /// Adds an epoch. Returns whether it is the best so far.
    pub fn advance(&mut self, row: CurveRow) -> bool {
        self.epoch = row.epoch + 1;
        self.wall_time_s = row.wall_time_s;
        let better = row.validation_mape < self.best_mape;
        if better {
            (self.best_epoch, self.best_mape) = (self.epoch, row.validation_mape);
        }
        self.curve.push(row);
        better
    }

    /// Epochs since the best one.
    pub fn epochs_without_gain(&self) -> usize {
        self.epoch - self.best_epoch
    }
}

/// The folder of a run.
pub struct Checkpoint {
    folder: PathBuf,
}

impl Checkpoint {
    /// Creates the folder if it is missing.
    pub fn new(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Folder of the run.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The progress of the run; `None` if it has not started.
    pub fn load_progress(&self) -> Result<Option<Progress>> {
        let path = self.path("progress.json");
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(Some(
            serde_json::from_str(&text).with_context(|| path.display().to_string())?,
        ))
    }

    /// Like [`Checkpoint::load_progress`], but refuses a run with other settings or other data than `fresh`.
    pub fn load_last(&self, fresh: &Progress) -> Result<Option<Progress>> {
        let progress = self.load_progress()?;
        if let Some(started) = &progress {
            let (expected, settings) = (fresh.settings.by_name(), started.settings.by_name());
            let folder = self.folder.display();
            ensure!(
                expected == settings,
                "{folder}: expected a run of {expected:?}, found {settings:?}"
            );
            self.expect_trained_on(&fresh.training_sha256, started)?;
        }
        Ok(progress)
    }

    /// Refuses a run on training graphs, features or labels with another hash than this.
    pub fn expect_trained_on(&self, training_sha256: &str, found: &Progress) -> Result<()> {
        ensure!(
            found.training_sha256 == training_sha256,
            "{}: expected a run on the training graphs, features and labels of today, found one on \
             others; remove it, or name another folder",
            self.folder.display()
        );
        Ok(())
    }

    /// Reads the weights after the last epoch into `model`, which has the same shape.
    pub fn load_last_model(&self, model: GraphNetwork) -> Result<GraphNetwork> {
        self.load_model(model, "last.bpk")
    }

    /// Reads the weights after the best epoch into `model`, which has the same shape.
    pub fn load_best_model(&self, model: GraphNetwork) -> Result<GraphNetwork> {
        self.load_model(model, "best.bpk")
    }

    fn load_model(&self, model: GraphNetwork, name: &str) -> Result<GraphNetwork> {
        let path = self.path(name);
        model
            .try_load_file(&path)
            .with_context(|| path.display().to_string())
    }

    /// Reads the state of the optimiser after the last epoch.
    pub fn load_optimiser(&self, optimiser: ModuleOptimizer) -> Result<ModuleOptimizer> {
        let path = self.path("optimiser.bpk");
        optimiser
            .load(&path)
            .with_context(|| path.display().to_string())
    }

    /// Replaces the weights of the best epoch.
    pub fn save_best(&self, model: &GraphNetwork) -> Result<()> {
        Ok(model.valid().save_file(self.path("best.bpk"))?)
    }

    /// Replaces weights, optimiser and progress of the last epoch.
    pub fn save_last(
        &self,
        model: &GraphNetwork,
        optimiser: &ModuleOptimizer,
        progress: &Progress,
    ) -> Result<()> {
        model.valid().save_file(self.path("last.bpk"))?;
        optimiser.save(self.path("optimiser.bpk"))?;
        let path = self.path("progress.json");
        fs::write(&path, serde_json::to_string_pretty(progress)?)
            .with_context(|| path.display().to_string())
    }
}
