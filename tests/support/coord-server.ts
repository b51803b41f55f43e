import type { CliFixture } from "./cli-fixture.ts";
import { json } from "./http-surface.ts";

/** A coordination server as its own process in a fixture. */
export interface CoordServer extends AsyncDisposable {
  baseUrl: string;
  /** What it said once it was ready. */
  ready: Record<string, string>;
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Status and body of a GET; of a POST with a body or with `null` for none. */
  ask(path: string, body?: object | null): Promise<{ status: number; body: Record<string, unknown> }>;
  pid: number;
  signal(signal: NodeJS.Signals): void;
  exited: Promise<number>;
  complaints(): string;
}

export async function startCoordinator(
  fixture: CliFixture,
  options: {
    port?: number;
    flags?: string[];
    env?: Record<string, string>;
    /** Makes the port reachable by a socket file, where it is on the loopback of another host. */
    relay?: (port: number) => Promise<string>;
  } = {},
): Promise<CoordServer> {
  const words = ["serve", "--port", String(options.port ?? 0), ...(options.flags ?? []), "--json"];
  const child = Bun.spawn([...fixture.command("svc-coord"), ...words], {
    env: { ...fixture.env, ...options.env },
    cwd: fixture.workdir,
    stdout: "pipe",
    stderr: "pipe",
  });
  let complaints = "";
  const heard = (async () => {
    for await (const bytes of child.stderr) complaints += new TextDecoder().decode(bytes);
  })();
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) {
    await heard;
    throw new Error(`svc-coord: ${complaints}`);
  }
  const ready = JSON.parse(new TextDecoder().decode(value)) as Record<string, string>;
  const baseUrl = ready["api_base_url"] ?? "";
  const unix = await options.relay?.(Number(new URL(baseUrl).port));
  const request = (path: string, init: RequestInit = {}) =>
    fetch(`${baseUrl}${path}`, { ...init, ...(unix ? { unix } : {}), proxy: false } as RequestInit);
  return {
    baseUrl,
    ready,
    request,
    async ask(path, body) {
      const init = body === undefined ? {} : body === null ? { method: "POST" } : json(body);
      const reply = await request(path, init);
      const text = await reply.text();
      return { status: reply.status, body: JSON.parse(text) as Record<string, unknown> };
    },
    pid: child.pid,
    signal: (signal) => child.kill(signal),
    exited: child.exited,
    complaints: () => complaints,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
      await heard;
    },
  };
}
