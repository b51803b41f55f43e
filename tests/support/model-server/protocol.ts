import type { ProtocolName, Purpose } from "./records.ts";
import type { Speech } from "./scenario.ts";
import type { ModelUsage } from "./usage.ts";

/** A request as it lies on the wire, its body parsed. */
interface WireRequest {
  method: string;
  path: string;
  headers: Headers;
  body: Json;
}

/** What a protocol reads out of a request. */
export interface Understood {
  purpose: Purpose;
  model: string;
  streamed: boolean;
  headless: boolean | null;
  userTexts: readonly string[];
  toolAnswered: boolean;
  /** What tools gave since the newest user text, oldest first. */
  toolResults: readonly string[];
  /** Skills as the CLI handed them to the model after a person or the model asked for one, oldest first. */
  skillTexts: readonly string[];
}

/** A piece of a conversation that is not the model's own. */
export type Said = { by: "person" | "tool"; text: string };

/** What the tools gave since a person spoke last. */
export function resultsSincePerson(said: readonly Said[]): string[] {
  return said.slice(said.findLastIndex(({ by }) => by === "person") + 1).map(({ text }) => text);
}

/** One piece of a streamed body; `afterMs` is the pause before it, `word` marks a piece of the speech. */
export interface Frame {
  afterMs: number;
  text: string;
  word?: true;
}

/** One wire protocol of model servers. Pure: the server keeps the time and the connection. */
export interface Protocol {
  name: ProtocolName;
  accepts(method: string, path: string): boolean;
  understand(request: WireRequest): Understood;
  /** The text of the answer to a side request, or null when the purpose has no reply of its own. */
  sideText(understood: Understood): string | null;
  frames(speech: Speech, understood: Understood, usage: ModelUsage): Generator<Frame>;
  whole(speech: Speech, understood: Understood, usage: ModelUsage): unknown;
  failure(status: number): unknown;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Reads a member of a value that may be anything. */
export function member(value: Json | undefined, key: string): Json | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return (value as { readonly [key: string]: Json })[key];
}

/** The items of a value that may be a list. */
export function items(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** A string, or empty when the value is none. */
export function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** One server-sent event; `name` adds the `event:` line that some protocols need. */
export function eventFrame(data: unknown, name?: string): string {
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

let minted = 0;
/** An identifier that no other answer of this process has. */
export function mintId(prefix: string): string {
  minted += 1;
  return `${prefix}_lab${String(minted).padStart(8, "0")}`;
}
