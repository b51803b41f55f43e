import { parseArgs } from "node:util";

export interface PeerEffort {
  prompts: number;
  agents: number;
  products: readonly string[];
}

/**
 * `--prompts N`, `--agents N` and `--products NAME,NAME` among the words of a command line; what is left out
 * is the default. Throws for a number that is not whole and above 0, and for a product that is not one of the
 * defaults.
 */
export function peerEffort(words: readonly string[], defaults: PeerEffort): PeerEffort {
  const option = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...words],
    strict: false,
    options: { prompts: option, agents: option, products: option },
  });
  const number = (name: "prompts" | "agents") => {
    const text = values[name];
    if (text === undefined) return defaults[name];
    if (typeof text !== "string" || !/^[1-9]\d*$/.test(text))
      throw new Error(`--${name} wants a number above 0`);
    return Number(text);
  };
  const products = typeof values.products === "string" ? values.products.split(",") : defaults.products;
  const unknown = products.filter((name) => !defaults.products.includes(name));
  if (unknown.length > 0) {
    throw new Error(
      `--products: no product ${unknown.join(", ")}; there are ${defaults.products.join(", ")}`,
    );
  }
  return { prompts: number("prompts"), agents: number("agents"), products };
}
