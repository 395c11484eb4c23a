//! Random forests on rows of features.

use anyhow::Result;
use litecast::learned::features::COLUMNS;
use rayon::prelude::*;
use smartcore::ensemble::random_forest_regressor::{
    RandomForestRegressor, RandomForestRegressorParameters,
};
use smartcore::linalg::basic::matrix::DenseMatrix;

use crate::feature_columns::column;

/// Maximum depth of a tree, as in nn-Meter's forests for convolutions on the CPU.
const MAX_DEPTH: u16 = 70;

/// Trees that are grown by one task.
const TREES_PER_TASK: usize = 5;

/// The columns of a kernel's main operator that a forest uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// nn-Meter's: hyperparameters, shapes, multiply-accumulates, parameters.
    NnMeter,
    /// All columns of the feature table, which the network uses.
    All,
}

impl Columns {
    /// Their indices in the feature table.
    pub fn indices(self) -> Vec<usize> {
        const NN_METER: [&str; 15] = [
            "log1p_in_h",
            "log1p_in_w",
            "log1p_in_c",
            "log1p_out_n",
            "log1p_out_h",
            "log1p_out_w",
            "log1p_out_c",
            "filter_h",
            "filter_w",
            "stride_h",
            "stride_w",
            "n_activations_in",
            "n_out",
            "log1p_macs",
            "log1p_weight_bytes",
        ];
        match self {
            Self::NnMeter => NN_METER.map(column).to_vec(),
            Self::All => (0..COLUMNS.len()).collect(),
        }
    }

    /// Number of columns that a tree considers at a split: most of nn-Meter's few columns, as in nn-Meter, and a third
    /// of many, as is usual for regression (Breiman 2001).
    fn n_candidates(self, n_columns: usize) -> usize {
        match self {
            Self::NnMeter => (n_columns * 4).div_ceil(5),
            Self::All => n_columns.div_ceil(3),
        }
    }
}

/// Settings of forests.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Columns that trees may split by.
    pub columns: Columns,
    /// Number of trees.
    pub n_trees: usize,
    /// Seed of the samples and columns that are drawn.
    pub seed: u64,
}

/// One value for each feature.
pub type FeatureRow = Vec<f64>;

type Trees = RandomForestRegressor<f64, f64, DenseMatrix<f64>, Vec<f64>>;

/// The mean over trees, which are grown in parallel groups.
pub struct Forest {
    /// Columns that vary.
    columns: Vec<usize>,
    /// Empty if the cost does not vary.
    groups: Vec<Trees>,
    mean: f64,
}

impl Forest {
    /// `rows` must not be empty, and has a row for each of `costs`.
    pub fn fit(rows: &[FeatureRow], costs: Vec<f64>, growth: Growth) -> Result<Self> {
        let varies = |column: &usize| rows.iter().any(|row| row[*column] != rows[0][*column]);
        let columns: Vec<usize> = (0..rows[0].len()).filter(varies).collect();
        let is_constant = columns.is_empty() || costs.iter().all(|&cost| cost == costs[0]);
        let mut forest = Self {
            mean: costs.iter().sum::<f64>() / costs.len() as f64,
            columns,
            groups: Vec::new(),
        };
        if is_constant {
            return Ok(forest);
        }
        let matrix = forest.matrix(rows)?;
        let parameters = RandomForestRegressorParameters::default()
            .with_max_depth(MAX_DEPTH)
            .with_n_trees(TREES_PER_TASK)
            .with_m(growth.columns.n_candidates(forest.columns.len()));
        let n_groups = growth.n_trees.div_ceil(TREES_PER_TASK) as u64;
        let grow = |group| {
            let parameters = parameters.clone().with_seed(growth.seed * n_groups + group);
            Trees::fit(&matrix, &costs, parameters)
        };
        let groups: Result<_, _> = (0..n_groups).into_par_iter().map(grow).collect();
        forest.groups = groups?;
        Ok(forest)
    }

    /// Number of columns that vary.
    pub fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// The mean of the trees for each row. Linear in rows, trees and their depth.
    pub fn predict(&self, rows: Vec<FeatureRow>) -> Result<Vec<f64>> {
        let mut sums = vec![0.0; rows.len()];
        if rows.is_empty() || self.groups.is_empty() {
            sums.fill(self.mean);
            return Ok(sums);
        }
        let matrix = self.matrix(&rows)?;
        let predict = |group: &Trees| group.predict(&matrix);
        let predictions: Vec<Vec<f64>> = self
            .groups
            .par_iter()
            .map(predict)
            .collect::<Result<_, _>>()?;
        for prediction in predictions {
            sums.iter_mut()
                .zip(prediction)
                .for_each(|(sum, value)| *sum += value);
        }
        let n_groups = self.groups.len() as f64;
        Ok(sums.into_iter().map(|sum| sum / n_groups).collect())
    }

    fn matrix(&self, rows: &[FeatureRow]) -> Result<DenseMatrix<f64>> {
        let chosen = rows
            .iter()
            .flat_map(|row| self.columns.iter().map(|&column| row[column]));
        let values = chosen.collect();
        Ok(DenseMatrix::new(
            rows.len(),
            self.columns.len(),
            values,
            false,
        )?)
    }
}
