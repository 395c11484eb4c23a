//! Errors as Markdown and CSV.

use litecast::manifest::OutputError;

/// Mean errors side by side, then every figure.
pub fn markdown(errors: &[OutputError], spaces: &[String]) -> String {
    overview(errors, spaces) + "\n" + &details(errors)
}

fn overview(errors: &[OutputError], spaces: &[String]) -> String {
    let mut text = "| target | metric | all |".to_owned();
    spaces
        .iter()
        .for_each(|space| text += &format!(" {space} |"));
    text += "\n|---|---|---|";
    spaces.iter().for_each(|_| text += "---|");
    text += "\n";
    for of_output in errors.chunk_by(|a, b| (&a.target, &a.metric) == (&b.target, &b.metric)) {
        let mape = |space: &str| of_output.iter().find(|e| e.space == space && e.error.n > 0);
        let cell =
            |space: &str| mape(space).map_or("-".to_owned(), |e| format!("{:.2} %", e.error.mape));
        let first = &of_output[0];
        text += &format!(
            "| {} | {} | {} |",
            first.target,
            first.metric,
            cell(litecast::manifest::ALL)
        );
        spaces
            .iter()
            .for_each(|space| text += &format!(" {} |", cell(space)));
        text += "\n";
    }
    text
}

fn details(errors: &[OutputError]) -> String {
    let mut text = "| target | metric | space | MAPE | median | P95 | within 5 % | within 10 % | Spearman | graphs |\n\
                    |---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for e in errors.iter().filter(|e| e.error.n > 0) {
        let s = &e.error;
        text += &format!(
            "| {} | {} | {} | {:.2} % | {:.2} % | {:.2} % | {:.1} % | {:.1} % | {:.4} | {} |\n",
            e.target,
            e.metric,
            e.space,
            s.mape,
            s.median_ape,
            s.p95_ape,
            s.within_5,
            s.within_10,
            s.spearman,
            s.n
        );
    }
    text
}

pub fn csv(errors: &[OutputError]) -> String {
    let mut text =
        "target,metric,space,mape,median_ape,p95_ape,within_5,within_10,spearman,n\n".to_owned();
    for e in errors {
        let s = &e.error;
        text += &format!(
            "{},{},{},{:.4},{:.4},{:.4},{:.3},{:.3},{:.5},{}\n",
            e.target,
            e.metric,
            e.space,
            s.mape,
            s.median_ape,
            s.p95_ape,
            s.within_5,
            s.within_10,
            s.spearman,
            s.n
        );
    }
    text
}
