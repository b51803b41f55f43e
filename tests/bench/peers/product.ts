import type { InstalledCli } from "../../live/lab/cli-cache.ts";
import type { Sandbox } from "../../live/lab/sandbox.ts";

/** Something that drives an agent CLI for other programs. */
export interface Product {
  name: string;
  /** Puts it in place where it is not. Rejects with why it cannot be had here. */
  install(): Promise<InstalledProduct>;
}

export interface InstalledProduct {
  version: string;
  /**
   * So many agents of the CLI in one sandbox, each idle in its composer. What it starts carries the sandbox's
   * mark.
   */
  start(cli: InstalledCli, box: Sandbox, count: number): Promise<PeerAgent[]>;
}

export interface PeerAgent {
  /** One prompt, as another program hands it over. */
  submit(prompt: string): Promise<Submission>;
  isIdle(): Promise<boolean>;
  /** What the CLI shows, as plain text. */
  screen(): Promise<string>;
  /** Presses Enter in the CLI's terminal, past the product where that is possible. */
  pressEnter(): Promise<void>;
}

/** `refused`: the product says that it did not take the prompt, so that the caller can send it again. */
export type Submission = "accepted" | "refused";

export interface Answer {
  status: number;
  body: unknown;
}

/** A request to a product on loopback, which no proxy variable diverts; a body that is no JSON is null. */
export async function askProduct(method: "GET" | "POST", url: string, json?: unknown): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { connection: "close", ...(json === undefined ? {} : { "content-type": "application/json" }) },
    proxy: false,
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  } as RequestInit);
  const text = await response.text();
  return { status: response.status, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A field of an object's; undefined of anything else. */
export function field(body: unknown, name: string): unknown {
  return typeof body === "object" && body !== null ? (body as Record<string, unknown>)[name] : undefined;
}
