export interface TestCounts {
  passed: number;
  failed: number;
}

export interface TestReport extends TestCounts {
  skipped: number;
  missing: string[];
}

/**
 * Reads a junit report of `bun test`. `passed` and `failed` count the tests that ran, `skipped` those that
 * did not; `missing` are the given files the report does not know: they broke before their first test, hold
 * none, or ended the process. Never throws: an empty report misses every file.
 */
export function readReport(junit: string, files: readonly string[]): TestReport {
  const head = /<testsuites\b[^>]*>/.exec(junit)?.[0] ?? "";
  const count = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const failed = count("failures");
  const skipped = count("skipped");
  const suites = junit.matchAll(/<testsuite\b[^>]*?\bfile="([^"]*)"/g);
  const reported = new Set([...suites].map(([, file]) => file));
  return {
    passed: count("tests") - failed - skipped,
    failed,
    skipped,
    missing: files.filter((file) => !reported.has(file)),
  };
}
