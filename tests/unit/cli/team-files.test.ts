import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { nearestTeamFile } from "../../../src/cli/agent/team-scope.ts";
import { findTeamFile, readEnvironment, readRole } from "../../../src/cli/team/team-files.ts";
import { createFakeIo } from "../../support/fake-io.ts";
import { createScratch } from "../../support/scratch.ts";

/** A repository beside private files of the user. */
function createRepository() {
  const at = createScratch();
  mkdirSync(at.path("repository/roles"), { recursive: true });
  mkdirSync(at.path("private"));
  writeFileSync(at.path("private/id"), "PRIVATE=KEY\n");
  writeFileSync(at.path("repository/roles/own"), "OWN=TEXT\n");
  symlinkSync(at.path("private/id"), at.path("repository/link"));
  symlinkSync(at.path("private"), at.path("repository/folder"));
  symlinkSync("roles/own", at.path("repository/within"));
  return at;
}

const outside = "lies outside of the folder of the team's file: put a copy below that folder";

test.each([
  { id: "by a link", path: "link", says: 'link is refused: "link" is a symbolic link' },
  { id: "behind a linked folder", path: "folder/id", says: '"folder" is a symbolic link' },
  { id: "by a link that stays inside", path: "within", says: '"within" is a symbolic link' },
  { id: "above the folder", path: "../private/id", says: outside },
  { id: "above the folder by a way around", path: "roles/../../private/id", says: outside },
  { id: "by an absolute path", path: "/etc/hostname", says: `/etc/hostname ${outside}` },
  { id: "that is a folder", path: "roles", says: '"roles" is no regular file' },
  { id: "that is the folder itself", path: ".", says: ". is refused" },
  { id: "whose name breaks a line", path: "../a\nb\u001b[31m", says: "../a b\\u001b[31m lies outside" },
])("no file of a team's file is read $id", async ({ path, says }) => {
  using at = createRepository();
  const folder = at.path("repository");
  const role = readRole(at, folder, "w", { tool: "demo", role_file: path });
  expect(String(await role.catch((error: unknown) => error))).toContain(says);
  const env = readEnvironment(at, folder, "w", { tool: "demo", env_file: path });
  expect(String(await env.catch((error: unknown) => error))).toContain(says);
});

test("files below the folder of a team's file are read, however the path is written", async () => {
  using at = createRepository();
  const folder = at.path("repository");
  for (const path of ["roles/own", "./roles/own", "roles/../roles/own", at.path("repository/roles/own")]) {
    expect(await readRole(at, folder, "w", { tool: "demo", role_file: path })).toEqual({
      path: at.path("repository/roles/own"),
      text: "OWN=TEXT\n",
    });
    const agent = { tool: "demo" as const, env_file: path, env: { MORE: "1" } };
    expect(await readEnvironment(at, folder, "w", agent)).toEqual({ OWN: "TEXT", MORE: "1" });
  }
  expect(await readRole(at, folder, "w", { tool: "demo" })).toBeNull();
});

test("a svc.yaml that is a link is not the nearest team's file, one below a linked folder is", () => {
  using at = createScratch();
  mkdirSync(at.path("main/below"), { recursive: true });
  mkdirSync(at.path("foreign/below"), { recursive: true });
  writeFileSync(at.path("main/svc.yaml"), "agents: {}\n");
  symlinkSync("../main/svc.yaml", at.path("foreign/svc.yaml"));
  symlinkSync("main", at.path("alias"));
  const file = at.files.realPath(at.path("main/svc.yaml"));
  expect(nearestTeamFile(at.files, at.path("main/below"))).toBe(file);
  expect(nearestTeamFile(at.files, at.path("alias/below"))).toBe(file);
  expect(() => nearestTeamFile(at.files, at.path("foreign/below"))).toThrow("svc.yaml is a link to");
  // A link to nothing does not lead to the team above.
  mkdirSync(at.path("main/clone"));
  symlinkSync("missing.yaml", at.path("main/clone/svc.yaml"));
  expect(() => nearestTeamFile(at.files, at.path("main/clone"))).toThrow("is a link to missing.yaml");
});

test("--file takes a link, and means the file that it leads to", () => {
  using at = createScratch();
  mkdirSync(at.path("main"));
  mkdirSync(at.path("foreign"));
  writeFileSync(at.path("main/svc.yaml"), "agents: {}\n");
  symlinkSync("../main/svc.yaml", at.path("foreign/svc.yaml"));
  const io = createFakeIo({ cwd: at.path("foreign") });
  const find = (given?: string) => findTeamFile({ files: at.files } as never, io, given);
  const file = at.files.realPath(at.path("main/svc.yaml")) ?? "";
  expect(find("svc.yaml")).toBe(file);
  expect(find(at.path("foreign/svc.yaml"))).toBe(file);
  expect(find("absent.yaml")).toBe(at.path("foreign/absent.yaml"));
  expect(() => find()).toThrow("is a link to");
});
