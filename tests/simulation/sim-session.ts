import type { SimPane } from "./sim-pane.ts";

export interface SimSession {
  name: string;
  id: string;
  /** Seconds since the epoch. */
  created: number;
  paneId: string;
  /** The first process of the pane, and the program that it runs. */
  panePid: number;
  programPid: number;
  pane: SimPane;
  environment: Map<string, string>;
  /** Copy mode: keys do not reach the program. */
  inMode: boolean;
}

/** What a gateway types. */
export type Typed =
  | { kind: "paste"; text: string }
  | { kind: "key"; name: string }
  | { kind: "text"; text: string };

/** What `quoteArgument` of the product wrote, as Latin-1 text of its bytes. */
export function unquote(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
