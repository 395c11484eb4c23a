/** Reports of older versions → the same numbers as this version has them: `src/report/migrate.rs` in JavaScript. */

/** As `REPORT_VERSION` of the crate. */
const REPORT_VERSION = 2;

/** What reports and their kept excerpts share. An excerpt of version 1 says no version. */
interface Versioned {
  schema_version?: number;
}

/** Null for a version that is not known. One of this version is returned as it is. */
export function migrated<Stored extends Versioned>(report: Stored): Stored | null {
  const { schema_version: version = 1 } = report;
  if (version === REPORT_VERSION) return report;
  return version === 1 ? { ...report, schema_version: REPORT_VERSION } : null;
}
