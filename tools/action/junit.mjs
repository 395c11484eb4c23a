/** Verdicts as JUnit XML, which CI systems show as tests. */
import { xml } from "./text.mjs";

/** `cases` as `{ file, name, failure?, skipped? }`. */
export function junit(cases) {
  const failed = cases.filter(({ failure }) => failure !== undefined).length;
  const skipped = cases.filter((one) => one.skipped !== undefined).length;
  const body = cases.map(({ file, name, failure, skipped: reason }) => {
    const open = `    <testcase classname="${xml(file)}" name="${xml(name)}"`;
    if (failure !== undefined) return `${open}>\n      <failure message="${xml(failure)}"/>\n    </testcase>`;
    return reason === undefined ? `${open}/>` : `${open}>\n      <skipped message="${xml(reason)}"/>\n    </testcase>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites tests="${cases.length}" failures="${failed}" skipped="${skipped}">`,
    `  <testsuite name="litecast" tests="${cases.length}" failures="${failed}" skipped="${skipped}">`,
    ...body,
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}
