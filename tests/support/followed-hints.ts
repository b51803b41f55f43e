import { expect } from "bun:test";
import type { CliFixture, CliRun } from "./cli-fixture.ts";

/** The commands that an error names, without the program's name. */
export const hints = ({ stderr }: CliRun) =>
  [...stderr.matchAll(/(?<=with: svc-mgr |there: svc-mgr )[a-z -]+[a-z]/g)].map(([words]) => words);

/** Types what an error says, each of which must do what it says. */
export async function follow(fixture: CliFixture, run: CliRun, expected: string[], options = {}) {
  expect(hints(run)).toEqual(expected);
  for (const words of expected) {
    expect(await fixture.run("svc-mgr", words.split(" "), options)).toMatchObject({ exitCode: 0 });
  }
}
