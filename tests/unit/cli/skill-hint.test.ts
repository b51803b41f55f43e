import { expect, test } from "bun:test";
import { skillHint, withMailbox } from "../../../src/cli/mail/agent-mailbox.ts";
import { mailRoundSkill } from "../../../src/services/notifier/render.ts";
import { sampleManifest } from "../../support/session-samples.ts";

const io = { env: { HOME: "/home/ann" }, home: "/home/ann", cwd: "/project", program: "svc-mgr" };
const has = (folder: string | null) => ({
  exists: (path: string) => folder !== null && path === `${folder}/skills/${mailRoundSkill}/SKILL.md`,
});
const plain = "svc-mgr system-skills install --tool claude";

test.each([
  { id: "a tool that finds no skill is helped", tool: "claude", found: null, hint: plain },
  { id: "one that finds it is not", tool: "claude", found: "/project/.claude", hint: null },
  { id: "neither is a tool whose skills we do not know", tool: "demo", found: null, hint: null },
  {
    id: "an agent that works elsewhere has its project named, in quotes",
    tool: "claude",
    workdir: "/other place",
    found: "/project/.claude",
    hint: `${plain} --home '/other place/.claude'`,
  },
  {
    id: "one with a home of its own reads the project's folder all the same",
    tool: "claude",
    home: { envVar: "CLAUDE_CONFIG_DIR", path: "/own" },
    found: "/home/ann/.claude",
    hint: `${plain} --home '/project/.claude'`,
  },
])("$id", ({ tool, workdir = "/project", home = null, found, hint }) => {
  expect(skillHint(has(found), sampleManifest({ tool, workdir, home }), io)).toBe(hint);
});

test("the answer of a launch shows the hint, and is silent without one", () => {
  const answer = { json: { a: 1 }, text: "runs" };
  const mailbox = { address: "ann@svc.localhost", root: "/mail" };
  const json = { a: 1, mailbox_address: "ann@svc.localhost", mailbox_root: "/mail" };
  expect(withMailbox(answer, { ...mailbox, skillHint: plain })).toEqual({
    json: { ...json, skill_hint: plain },
    text: `runs\nits mailbox is ann@svc.localhost\n  teach it to work its mail: ${plain}`,
  });
  expect(withMailbox(answer, { ...mailbox, skillHint: null })).toEqual({
    json,
    text: "runs\nits mailbox is ann@svc.localhost",
  });
});
