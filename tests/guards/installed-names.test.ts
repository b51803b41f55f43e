import { expect, test } from "bun:test";
import { findInstalledNames } from "./installed-names.ts";
import { trackedFiles } from "./repository.ts";

const own = "tests/guards/installed-names.test.ts";

test("nothing says to install or to run a package of ours by its name", () => {
  const files = trackedFiles().filter(({ path }) => path !== own);
  expect(files.length).toBeGreaterThan(20);
  expect(findInstalledNames(files)).toEqual([]);
});

test.each([
  "npm install --global svc-mgr",
  "  npm i -g svc-mgr@0.1.0",
  "run `npx svc-mgr doctor`",
  "`npx -y svc` works too",
  "npx --package svc-mgr svc doctor",
  "npx -p=svc-mgr-linux-x64 svc",
  "bunx svc-mgr, and",
  "bun add svc-mgr",
  "bun x svc-coord",
  "pnpm dlx svc-mgr",
  "yarn global add svc-mgr",
  "npm exec svc-mgr -- doctor",
  "npm install --prefix /opt svc-mgr",
])("%s is found", (line) => {
  expect(findInstalledNames([{ path: "a.md", content: `text\n${line}\n` }])).toEqual([
    expect.stringMatching(/^a\.md:2: installs svc/),
  ]);
});

test.each([
  "npm install --global ./svc-mgr-0.1.0-linux-x64.tgz",
  "npx -p ./svc-mgr-0.1.0-linux-x64.tgz svc-mgr doctor",
  "bunx --package ./svc-mgr-0.1.0-linux-x64.tgz svc-mgr",
  "npx -y bun@1.4.5 run build",
  "npm uninstall --global svc-mgr",
  "npm install -g opencode-ai",
  "svc-mgr doctor",
])("%s is not", (line) => {
  expect(findInstalledNames([{ path: "a.md", content: line }])).toEqual([]);
});
