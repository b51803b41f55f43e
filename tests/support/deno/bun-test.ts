import "./fetch.ts";

/** `bun:test` for Deno: every test becomes one of Deno's, under its group's name. */

export { expect } from "./expect.ts";

declare const Deno: {
  test: {
    (definition: {
      name: string;
      fn: () => unknown;
      sanitizeOps: boolean;
      sanitizeResources: boolean;
      sanitizeExit: boolean;
    }): void;
    afterAll(fn: () => unknown): void;
  };
};

type Body = (...row: never[]) => unknown;
type Define = (name: string, body: () => unknown) => void;

const groups: string[] = [];

const define: Define = (name, body) =>
  Deno.test({
    name: [...groups, name].join(" > "),
    fn: body,
    sanitizeOps: false,
    sanitizeResources: false,
    sanitizeExit: false,
  });

const group: Define = (name, body) => {
  groups.push(name);
  body();
  groups.pop();
};

const eachBy = (one: Define) => (rows: readonly unknown[]) => (name: string, body: Body) => {
  for (const row of rows) {
    const values = Array.isArray(row) ? row : [row];
    one(titled(name, values), () => body(...(values as never[])));
  }
};

/** `%s` takes the next value, `$name` a field of the first. */
function titled(name: string, values: readonly unknown[]): string {
  const rest = [...values];
  const [first] = values;
  return name
    .replaceAll("%s", () => String(rest.shift()))
    .replace(/\$(\w+)/g, (whole, key: string) =>
      typeof first === "object" && first !== null && key in first
        ? String((first as Record<string, unknown>)[key])
        : whole,
    );
}

export const test = Object.assign((name: string, body: () => unknown) => define(name, body), {
  each: eachBy(define),
});
export const describe = Object.assign(group, { each: eachBy(group) });
/** At the end of the file, also where a group asks for it. */
export const afterAll = (fn: () => unknown): void => Deno.test.afterAll(fn);
