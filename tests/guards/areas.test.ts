import { expect, test } from "bun:test";
import { areas, areasOfSource, areasOfTest, isProgramTest, sharedSources } from "../areas.ts";
import { promises } from "../promises.ts";
import { readTree } from "./tree.ts";

const paths = readTree("src", "tests").map(({ path }) => path);
const tests = paths.filter((path) => path.endsWith(".test.ts"));
const sources = paths.filter((path) => path.startsWith("src/"));

test("each source is in an area, or shared by all", () => {
  expect(sources.filter((path) => areasOfSource(path)?.length === 0)).toEqual([]);
});

test("each promise names tests that exist", () => {
  const named = promises.flatMap((one) => one.tests.map((path) => `tests/${path}`));
  expect(named.filter((path) => !tests.includes(path))).toEqual([]);
  expect(promises.filter((one) => one.tests.length === 0)).toEqual([]);
});

test("each test of programs is in an area", () => {
  expect(tests.filter((path) => isProgramTest(path) && areasOfTest(path).length === 0)).toEqual([]);
});

test("each beginning of a path in the table has a file", () => {
  const unused = areas.flatMap((area) => [
    ...area.sources.filter((start) => !sources.some((path) => path.startsWith(`src/${start}`))),
    ...area.tests.filter((start) => !tests.some((path) => path.startsWith(`tests/${start}`))),
  ]);
  expect(unused).toEqual([]);
  expect(sharedSources.filter((start) => !sources.some((path) => path.startsWith(`src/${start}`)))).toEqual(
    [],
  );
});
