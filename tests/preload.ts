import { setDefaultTimeout } from "bun:test";

// A plain `bun test FILE` ends a test after 5 s: the timeout of bunfig.toml has no effect in Bun 1.4.5. One
// of these calls holds for the first file of a process; our own commands give --timeout for all of them.
setDefaultTimeout(Number(process.env["SVC_TEST_TIMEOUT_MS"] ?? 60_000));
