import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { installPackages } from "./debian-packages.ts";
import { installOnce, runForeign } from "./foreign-packages.ts";

/** The receiver of the OpenTelemetry collector, as its Go module has it, built once for a machine. */

const source = join(import.meta.dir, "otlp-receiver");
const version = "0.165.0";

/** A span, as OTLP JSON has it. Times are nanoseconds, as text. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes?: Attribute[];
  events?: { name: string; timeUnixNano: string; attributes?: Attribute[] }[];
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number };
}

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: string };
}

interface ResourceSpans {
  resource: { attributes: Attribute[] };
  scopeSpans: { scope: { name: string }; spans: ReceivedSpan[] }[];
}

export interface OtlpReceiver extends AsyncDisposable {
  baseUrl: string;
  /** What it accepted so far. */
  spans(): ReceivedSpan[];
  resources(): Record<string, string>[];
  /** All of it as text. */
  text(): string;
}

export const attributesOf = (attributes: readonly Attribute[] = []): Record<string, string> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? ""]));

/** The oldest Go that fetches the one which the module asks for. */
const knownGo = ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"];
const findGo = () => Bun.which("go") ?? knownGo.find((path) => existsSync(path)) ?? null;

async function build(): Promise<string> {
  const folder = await installOnce(`otlp-receiver-${version}`, async (into) => {
    await installPackages({
      purpose: "Go, with which the receiver of the OpenTelemetry collector is built, is not installed",
      packages: ["golang-go"],
      isThere: () => findGo() !== null,
    });
    cpSync(source, into, { recursive: true });
    await runForeign([findGo() ?? "go", "build", "-mod=readonly", "-trimpath", "-o", "receiver", "."], {
      cwd: into,
      env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false" },
    });
  });
  return join(folder, "receiver");
}

/** On `port` of loopback, which must be free. */
export async function startOtlpReceiver(port: number): Promise<OtlpReceiver> {
  const child = Bun.spawn([await build(), `127.0.0.1:${port}`], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: {},
  });
  let accepted = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const part of child.stdout) accepted += decoder.decode(part, { stream: true });
  })();
  const first = await child.stderr.getReader().read();
  const said = new TextDecoder().decode(first.value);
  if (!said.startsWith("receiving")) throw new Error(`the receiver ended: ${said}`);
  const all = () =>
    accepted
      .split("\n")
      .slice(0, -1)
      .flatMap((line) => (JSON.parse(line) as { resourceSpans: ResourceSpans[] }).resourceSpans);
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    spans: () => all().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    resources: () => all().map(({ resource }) => attributesOf(resource.attributes)),
    text: () => accepted,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
      await reading;
    },
  };
}
