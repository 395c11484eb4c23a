/** Put in by www/build.mjs. */

/** Of everything that estimates are computed with: another build may estimate otherwise. */
declare const ESTIMATES_ID: string;
/** A query that names this build, so that a page never mixes files of two builds. */
declare const VERSION: string;
/** Of this page, as reports name it. */
declare const LITECAST_VERSION: string;
/** Models that are estimated before any file, by their paths in the page. */
declare const WARM_UP_FILES: readonly string[];
