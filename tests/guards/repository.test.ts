import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findLockedUrls, findLooseVersions, findTies, trackedFiles } from "./repository.ts";
import { repositoryRoot } from "./tree.ts";

const read = (path: string) => readFileSync(join(repositoryRoot, path), "utf8");

describe("the repository", () => {
  const files = trackedFiles();
  test("git knows its files", () => expect(files.length).toBeGreaterThan(20));
  test("nothing names a machine, a registry or an author", () => {
    const own = [repositoryRoot, process.env["HOME"] ?? ""].filter((path) => path.split("/").length > 2);
    expect(findTies(files, own)).toEqual([]);
  });
  test("bun.lock holds no URL", () => expect(findLockedUrls(read("bun.lock"))).toEqual([]));
  test("every dependency is pinned", () => expect(findLooseVersions(read("package.json"))).toEqual([]));
  test("CI runs the README's test command", () => {
    const [tryCommand, testCommand] = read("README.md").match(/^npx .*$/gm) ?? [];
    expect([tryCommand, testCommand]).toEqual(["npx -y bun@1.4.5 run try", "npx -y bun@1.4.5 run test"]);
    expect(read(".ci/run")).toContain(testCommand ?? "?");
  });
});

describe("a planted violation is seen", () => {
  const slash = "/";
  const planted = [
    `see ${slash}work/main/src`,
    `"${slash}root/.cache"`,
    `${slash}Users/ann/svc`,
    `https:${slash}/registry.${"npmjs"}.org`,
    `deb.${"debian"}.org`,
    `Co-${"authored"}-by: x`,
  ];
  test.each(planted)("%s", (content) => expect(findTies([{ path: "a", content }])).toHaveLength(1));
  test.each([`${slash}$bunfs${slash}root/svc-gateway`, `docs${slash}root/a`, `$HOME${slash}work/a`])(
    "not %s",
    (content) => expect(findTies([{ path: "a", content }])).toEqual([]),
  );
  test("a text of this machine", () =>
    expect(findTies([{ path: "a", content: "x /opt/y" }], ["/opt/y"])).toHaveLength(1));
  test("a URL in the lockfile", () => {
    expect(findLockedUrls('"a": ["a@1.0.0", "https://host/a.tgz", {}, "sha512-x=="],')).toHaveLength(1);
    expect(findLockedUrls('"a": ["a@1.0.0", "", {}, "sha512-x//y=="],')).toEqual([]);
  });
  test.each(["^1.0.0", "~1.0.0", "latest", "1.x", "npm:b", "npm:b@^1.0.0", "*"])(
    "the version %s",
    (version) =>
      expect(findLooseVersions(JSON.stringify({ devDependencies: { a: version } }))).toHaveLength(1),
  );
  test.each(["1.0.0", "1.0.0-rc.1", "npm:b@1.0.0", "npm:@a/b@1.0.0"])("not the version %s", (version) =>
    expect(findLooseVersions(JSON.stringify({ devDependencies: { a: version } }))).toEqual([]),
  );
});
