import { expect, test } from "bun:test";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { findUnknownParts, noticesOf, partsOf, sbomOf } from "../../../scripts/notices.ts";

const inputs = [
  "src/cli/svc.ts",
  "node_modules/citty/dist/index.mjs",
  "node_modules/@sinclair/typebox/build/esm/index.mjs",
  "node_modules/citty/dist/other.mjs",
];
const parts = partsOf(inputs);

test("the packages of the bundle come once each, and Bun with its parts after them", () => {
  const names = parts.map(({ name }) => name);
  expect(names.slice(0, 3)).toEqual(["@sinclair/typebox", "citty", "bun"]);
  expect(names).toEqual(
    expect.arrayContaining([
      "BoringSSL",
      "libarchive",
      "lol-html",
      "mimalloc",
      "c-ares",
      "simdutf",
      "TinyCC",
    ]),
  );
  expect(new Set(names).size).toBe(names.length);
});

test("each part has a licence and its text, and Bun's have the version that Bun names", () => {
  const notices = noticesOf(parts);
  for (const { name, version, license, text } of parts) {
    expect([name, license, text.length > 100]).toEqual([name, expect.stringMatching(/\S/), true]);
    expect(text).not.toMatch(/^@/m);
    expect(notices).toContain(`${version === null ? name : `${name} ${version}`}: ${license}\n`);
  }
  expect(notices).toContain(`bun ${Bun.version}: MIT\n`);
  expect(notices).toContain(`${process.versions["webkit"]}: LGPL-2.0-or-later`);
  expect(notices).toContain("GNU LIBRARY GENERAL PUBLIC LICENSE");
  expect(notices).toContain("GNU LESSER GENERAL PUBLIC LICENSE");
});

test("a package that is itself a bundle has its notice and the licences of its parts", () => {
  const [part] = partsOf(["node_modules/swagger-ui-dist/swagger-ui-bundle.js"]);
  expect(part).toMatchObject({ name: "swagger-ui-dist", license: "Apache-2.0" });
  for (const text of ["Apache License", "SmartBear Software", "DOMPurify"])
    expect(part?.text).toContain(text);
});

test("a part that Bun names and the notices do not have is found", () => {
  expect(findUnknownParts(Object.keys(process.versions))).toEqual([]);
  expect(findUnknownParts(["bun", "node", "quickjs"])).toEqual(["quickjs"]);
});

test("the CycloneDX document is valid and has the same parts", async () => {
  const text = await sbomOf(parts);
  expect(await sbomOf(parts)).toBe(text);
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  expect(await validator.validate(text)).toBeNull();
  expect(await validator.validate(text.replace('"library"', '"nonsense"'))).not.toBeNull();
  const { components } = JSON.parse(text) as { components: { name: string; version?: string }[] };
  const titles = (all: readonly { name: string; version?: string | null }[]) =>
    all.map(({ name, version }) => `${name} ${version ?? ""}`).sort();
  expect(titles(components)).toEqual(titles(parts));
});
