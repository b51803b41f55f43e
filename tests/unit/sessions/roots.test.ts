import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findOverlay, planRoots } from "../../../src/services/sessions/roots.ts";
import { createFiles } from "../../../src/system/files.ts";
import { createIds } from "../../../src/system/ids.ts";
import { quietSteps } from "../../../src/system/steps.ts";

const bare = { flags: {}, env: {}, home: "/home/ann", overlay: null, overlayHoldsSessions: false };

describe("where things live", () => {
  test.each([
    {
      id: "by default under the user's state folder, and no mailbox is invented",
      facts: bare,
      want: {
        runtimeRoot: "/home/ann/.local/state/svc/runtime",
        registryRoot: "/home/ann/.local/state/svc/registry",
        mailboxRoot: null,
      },
    },
    {
      id: "under XDG_STATE_HOME when it is set",
      facts: { ...bare, env: { XDG_STATE_HOME: "/state" } },
      want: { runtimeRoot: "/state/svc/runtime", registryRoot: "/state/svc/registry", mailboxRoot: null },
    },
    {
      id: "in a project overlay, save the registry, which all projects share",
      facts: { ...bare, overlay: "/project/.svc", overlayHoldsSessions: true },
      want: {
        runtimeRoot: "/project/.svc/runtime",
        registryRoot: "/home/ann/.local/state/svc/registry",
        mailboxRoot: "/project/.svc/mailbox",
      },
    },
    {
      id: "in the state folder beside a project's mail, also when that was there first",
      facts: { ...bare, overlay: "/project/.svc" },
      want: {
        runtimeRoot: "/home/ann/.local/state/svc/runtime",
        registryRoot: "/home/ann/.local/state/svc/registry",
        mailboxRoot: "/project/.svc/mailbox",
      },
    },
    {
      id: "where the environment says, before an overlay",
      facts: {
        ...bare,
        overlay: "/project/.svc",
        overlayHoldsSessions: true,
        env: {
          SVC_GLOBAL_RUNTIME_DIR: "/r",
          SVC_GLOBAL_REGISTRY_DIR: "/g",
          SVC_GLOBAL_MAILBOX_DIR: "/m",
        },
      },
      want: { runtimeRoot: "/r", registryRoot: "/g", mailboxRoot: "/m" },
    },
    {
      id: "where a flag says, before everything",
      facts: {
        ...bare,
        flags: { runtimeRoot: "/fr", registryRoot: "/fg", mailboxRoot: "/fm" },
        env: { SVC_GLOBAL_RUNTIME_DIR: "/r", SVC_GLOBAL_REGISTRY_DIR: "/g" },
      },
      want: { runtimeRoot: "/fr", registryRoot: "/fg", mailboxRoot: "/fm" },
    },
    {
      id: "an empty variable counts as unset",
      facts: { ...bare, env: { SVC_GLOBAL_RUNTIME_DIR: "", XDG_STATE_HOME: "" } },
      want: {
        runtimeRoot: "/home/ann/.local/state/svc/runtime",
        registryRoot: "/home/ann/.local/state/svc/registry",
        mailboxRoot: null,
      },
    },
  ])("$id", ({ facts, want }) => {
    expect(planRoots(facts)).toEqual(want);
  });

  test.each([
    "SVC_GLOBAL_RUNTIME_DIR",
    "SVC_GLOBAL_REGISTRY_DIR",
    "SVC_GLOBAL_MAILBOX_DIR",
    "XDG_STATE_HOME",
  ])("a relative %s is an error that names it", (name) => {
    expect(() => planRoots({ ...bare, env: { [name]: "some/where" } })).toThrow(name);
  });
});

describe("the project overlay", () => {
  const files = createFiles({ ids: createIds(), steps: quietSteps });

  function tree() {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "svc-roots-")));
    mkdirSync(join(root, "project", "deep", "er"), { recursive: true });
    return {
      root,
      project: join(root, "project"),
      deep: join(root, "project", "deep", "er"),
      [Symbol.dispose]: () => rmSync(root, { recursive: true }),
    };
  }

  test("is the nearest .svc folder above", () => {
    using at = tree();
    mkdirSync(join(at.project, ".svc"));
    expect(findOverlay(files, {}, at.deep)).toBe(join(at.project, ".svc"));
  });

  test("is not looked for above the Git root", () => {
    using at = tree();
    mkdirSync(join(at.root, ".svc"));
    mkdirSync(join(at.project, ".git"));
    expect(findOverlay(files, {}, at.deep)).toBeNull();
    expect(findOverlay(files, {}, at.root)).toBe(join(at.root, ".svc"));
  });

  test("is only the working directory's own with cwd_only", () => {
    using at = tree();
    mkdirSync(join(at.project, ".svc"));
    const env = { SVC_PROJECT_OVERLAY_DISCOVERY_MODE: "cwd_only" };
    expect(findOverlay(files, env, at.deep)).toBeNull();
    expect(findOverlay(files, env, at.project)).toBe(join(at.project, ".svc"));
  });

  test("is what SVC_PROJECT_OVERLAY_DIR names; a relative one and an unknown mode are errors", () => {
    using at = tree();
    expect(findOverlay(files, { SVC_PROJECT_OVERLAY_DIR: "/else/where" }, at.deep)).toBe("/else/where");
    expect(() => findOverlay(files, { SVC_PROJECT_OVERLAY_DIR: "else" }, at.deep)).toThrow("absolute");
    expect(() => findOverlay(files, { SVC_PROJECT_OVERLAY_DISCOVERY_MODE: "up" }, at.deep)).toThrow(
      "ancestor",
    );
  });

  test("is never made by looking", () => {
    using at = tree();
    mkdirSync(join(at.project, ".git"));
    expect(findOverlay(files, {}, at.deep)).toBeNull();
    expect(files.list(at.project)).toEqual([".git", "deep"]);
  });
});
