import { readFileSync, writeFileSync } from "node:fs";
import { expect, step } from "./say.ts";
import { type Stage, until } from "./stage.ts";

const rounds = 4;
const names = ["alice", "bob"] as const;

/** Two scripted agents talk by mail: only what their gateways type into their panes makes them act. */
export async function tellMail(stage: Stage): Promise<void> {
  writeFileSync(stage.path("mail.json"), JSON.stringify({ schema_version: 1, mail_rounds: true }));
  for (const name of names) {
    const launched = await stage.manager(
      "agents",
      "launch",
      "--tool",
      "demo",
      "--agent-name",
      name,
      "--workdir",
      stage.workdir,
      "--mailbox",
      "--mailbox-root",
      stage.path("mail"),
      "--",
      "--log",
      logOf(stage, name),
      "--script",
      stage.path("mail.json"),
    );
    expect(
      `the launch of ${name}`,
      launched,
      launched.code === 0 && launched.out.mailbox_address !== undefined,
    );
    const enabled = await stage.manager(...of(name), "gateway", "mail-notifier", "enable");
    expect("the notifier", enabled, enabled.out.enabled === true);
  }
  step(`agents "alice" and "bob" have mailboxes, and gateways that wake them when mail comes`);

  const wish = `TALK bob@svc.localhost ${rounds}`;
  const posted = await stage.manager(
    ...of("alice"),
    "mail",
    "post",
    "--subject",
    "Talk to bob",
    "--body-content",
    wish,
  );
  expect("the post", posted, posted.code === 0 && posted.out.authoritative === true);
  step("the operator asked alice, by mail, to talk to bob");

  await until("all mail is worked", () => {
    const [alice, bob] = names.map((name) => acts(stage, name, "mail_archived").length);
    return alice === rounds / 2 + 1 && bob === rounds / 2;
  });
  for (const name of names) {
    const [read, done] = [acts(stage, name, "mail_read"), acts(stage, name, "mail_archived")];
    const refs = done.map((act) => act.message_ref);
    const once = new Set(refs).size === refs.length;
    expect(
      `${name}'s mail`,
      { read, done },
      once && read.map((act) => act.message_ref).join() === refs.join(),
    );
    const busy = acts(stage, name, "submitted").filter((act) => act.while !== "idle");
    expect(`the prompts of ${name}`, busy, busy.length === 0);
    const inbox = await stage.manager(...of(name), "mail", "list");
    expect(`${name}'s inbox`, inbox, inbox.out.message_count === 0);
  }
  step(`they talked for ${rounds} rounds: every message read, answered and archived once, nobody typed over`);

  for (const name of names) {
    const stopped = await stage.manager(...of(name), "stop");
    expect(`the stop of ${name}`, stopped, stopped.code === 0);
  }
  step("both agents are stopped; their mail stays, as files one can read");
}

const of = (name: string) => ["agents", "single", "--agent-name", name];
const logOf = (stage: Stage, name: string) => stage.path(`${name}.jsonl`);

interface Act {
  kind: string;
  message_ref?: string;
  while?: string;
}

/** What the scripted agent says it did, of one kind, in order. */
function acts(stage: Stage, name: string, kind: string): Act[] {
  const lines = readFileSync(logOf(stage, name), "utf8").trim().split("\n");
  return lines.map((line): Act => JSON.parse(line)).filter((act) => act.kind === kind);
}
