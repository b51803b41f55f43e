import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installSchemathesis } from "./install.ts";

export interface ForeignRun {
  /** Null when every check of every answer passed. */
  failure: string | null;
  /** Its own summary. */
  output: string;
}

/**
 * Refusals that no schema can foresee, by the status alone; 400 is a route of headless agents that is asked
 * of a terminal agent. The texts of a 422 are in `stateDependent`.
 */
const refusals = ["2xx", "3xx", "400", "401", "403", "404", "409", "501", "502", "503"];

/** Has schemathesis ask a server everything that its document allows and forbids, and judge every answer. */
export async function runSchemathesis(target: {
  baseUrl: string;
  seed: number;
  seconds: number;
  /** Operation ids: these alone, or all but these. */
  operations: { only: readonly string[] } | { not: readonly string[] };
  /** Only requests that the document forbids. */
  negative?: true;
  /** Values of parameters that are the same in every call. */
  parameters: Readonly<Record<string, string | number>>;
  stateDependent: readonly RegExp[];
}): Promise<ForeignRun> {
  const executable = await installSchemathesis();
  const folder = mkdtempSync(join(tmpdir(), "svc-schemathesis-"));
  try {
    const config = join(folder, "schemathesis.toml");
    writeFileSync(config, toConfig(target.parameters));
    const words = [
      "--config-file",
      config,
      "run",
      `${target.baseUrl}/openapi.json`,
      "--seed",
      String(target.seed),
      "--max-time",
      String(target.seconds),
      "--checks",
      "all",
      // Of some operations there is no chain of calls; examples are allowed requests.
      "--phases",
      target.negative ? "coverage,fuzzing" : "examples,coverage,fuzzing,stateful",
      // It holds each event of a stream to the schema of the whole answer: `answer_fits_its_schema` of
      // hooks.py has its place.
      ...(target.negative ? ["--mode", "negative", "--exclude-checks", "response_schema_conformance"] : []),
      "--generation-database",
      "none",
      "--request-timeout",
      "20",
      "--no-color",
      "--warnings",
      "off",
      "--suppress-health-check",
      "all",
      ...("only" in target.operations
        ? target.operations.only.flatMap((id) => ["--include-operation-id", id])
        : target.operations.not.flatMap((id) => ["--exclude-operation-id", id])),
    ];
    const child = Bun.spawn([executable, ...words], {
      cwd: folder,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: folder,
        LANG: "C.UTF-8",
        NO_PROXY: "127.0.0.1",
        PYTHONDONTWRITEBYTECODE: "1",
        SCHEMATHESIS_HOOKS: join(import.meta.dir, "hooks.py"),
        SVC_STATE_DEPENDENT: JSON.stringify(target.stateDependent.map(({ source }) => source)),
      },
    });
    const [out, err, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    const output = `${out}${err}`;
    return {
      failure: code === 0 ? null : `schemathesis ended with ${code}:\n${output.slice(-12_000)}`,
      output,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function toConfig(parameters: Readonly<Record<string, string | number>>): string {
  const list = (values: readonly string[]) => `[${values.map((value) => JSON.stringify(value)).join(", ")}]`;
  return [
    "[checks.positive_data_acceptance]",
    // A 422 is judged by its text.
    `expected-statuses = ${list([...refusals, "422"])}`,
    "[checks.not_a_server_error]",
    `expected-statuses = ${list(["2xx", "3xx", "4xx", "501", "502", "503", "504"])}`,
    "[parameters]",
    ...Object.entries(parameters).map(
      ([name, value]) => `${JSON.stringify(name)} = ${JSON.stringify(value)}`,
    ),
    "",
  ].join("\n");
}
