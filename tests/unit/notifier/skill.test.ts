import { expect, test } from "bun:test";
import { join } from "node:path";
import { isSkillInstalled, mailRoundSkill } from "../../../src/services/notifier/render.ts";
import { sampleManifest } from "../../support/session-samples.ts";

const cases: {
  id: string;
  tool: string;
  in: string;
  env?: Record<string, string>;
  launchedWith?: { env_var: string; home_path: string };
  installed: boolean;
}[] = [
  { id: "claude reads its own folder", tool: "claude", in: "/home/ann/.claude", installed: true },
  { id: "claude reads the project's", tool: "claude", in: "/project/.claude", installed: true },
  { id: "claude does not read the shared folder", tool: "claude", in: "/home/ann/.agents", installed: false },
  { id: "codex does", tool: "codex", in: "/home/ann/.agents", installed: true },
  { id: "the folder of another tool says nothing", tool: "codex", in: "/project/.claude", installed: false },
  {
    id: "opencode's folder is below .config",
    tool: "opencode",
    in: "/home/ann/.config/opencode",
    installed: true,
  },
  {
    id: "a variable moves the home",
    tool: "codex",
    in: "/else",
    env: { CODEX_HOME: "/else" },
    installed: true,
  },
  {
    id: "the home of the launch is the tool's",
    tool: "claude",
    in: "/launched",
    launchedWith: { env_var: "CLAUDE_CONFIG_DIR", home_path: "/launched" },
    installed: true,
  },
  {
    id: "the project's folder counts beside the home of the launch, the person's does not",
    tool: "claude",
    in: "/home/ann/.claude",
    launchedWith: { env_var: "CLAUDE_CONFIG_DIR", home_path: "/launched" },
    installed: false,
  },
];

test.each(cases)("$id", ({ tool, in: home, env = {}, launchedWith, installed }) => {
  const chosen = launchedWith ? { envVar: launchedWith.env_var, path: launchedWith.home_path } : null;
  const manifest = sampleManifest({ tool, workdir: "/project", home: chosen });
  const file = join(home, "skills", mailRoundSkill, "SKILL.md");
  const files = { exists: (path: string) => path === file };
  expect(isSkillInstalled(files, manifest, { HOME: "/home/ann", ...env })).toBe(installed);
});
