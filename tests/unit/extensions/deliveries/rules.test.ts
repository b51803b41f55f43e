import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import {
  createRuleSource,
  parseRules,
  readRules,
  readSecret,
  topicOf,
} from "../../../../src/services/extensions/deliveries/rules.ts";
import { createScratch } from "../../../support/scratch.ts";

const lines = (...text: string[]) => `${text.join("\n")}\n`;
const rule = (...text: string[]) =>
  lines("version: 1", "rules:", "  phone:", ...text.map((one) => `    ${one}`));
const webhook = "webhook: { url: https://example.test/hook, secret_file: secret }";
const findings = (text: string) => {
  const reading = parseRules(text);
  return reading.ok ? [] : reading.findings.map(({ line, message }) => `${line}: ${message}`);
};

test("rules of every target are read", () => {
  const text = lines(
    "version: 1",
    "rules:",
    "  desk: { command: { argv: [notify-send, svc] } }",
    `  hook: { ${webhook}, digest: 60, include: [options] }`,
    '  phone: { ntfy: { url: "https://ntfy.sh/t", priority: 4, tags: [robot] }, agents: ["build-*"] }',
    "  post: { mail: { to: me@example.test, from: svc@example.test, jmap_url: http://127.0.0.1:1, password_file: p } }",
  );
  const reading = parseRules(text);
  expect(reading.ok && reading.rules.map(({ name, kind }) => [name, kind])).toEqual([
    ["desk", "command"],
    ["hook", "webhook"],
    ["phone", "ntfy"],
    ["post", "mail"],
  ]);
});

describe("a finding names line and field", () => {
  test.each([
    {
      id: "no target",
      text: rule("digest: 5"),
      want: "3: rules.phone: needs exactly one of command, webhook, ntfy, mail; it has none",
    },
    {
      id: "two targets",
      text: rule(webhook, "command: { argv: [x] }"),
      want: "3: rules.phone: needs exactly one of command, webhook, ntfy, mail; it has command and webhook",
    },
    {
      id: "a misspelt field",
      text: rule(webhook, "agent: [a]"),
      want: '5: rules.phone.agent: is not known here; did you mean "agents"?',
    },
    { id: "a misspelt reason", text: rule(webhook, "reasons: [question, permision]"), want: "permission" },
    {
      id: "a time zone of nowhere",
      text: rule(webhook, 'quiet_hours: { start: "22:00", end: "07:00", time_zone: Mars/Base }'),
      want: "5: rules.phone.quiet_hours: time_zone: not a time zone known here",
    },
    {
      id: "quiet hours without an extent",
      text: rule(webhook, 'quiet_hours: { start: "22:00", end: "22:00", time_zone: UTC }'),
      want: "start and end are both 22:00",
    },
    {
      id: "a URL without TLS",
      text: rule("webhook: { url: http://example.test/, secret_file: s }"),
      want: "4: rules.phone.webhook.url: must begin with https (http is for this machine only)",
    },
    {
      id: "a URL with a login",
      text: rule("webhook: { url: https://me:pw@example.test/, secret_file: s }"),
      want: "must be an http or https address without a login",
    },
    {
      id: "another scheme",
      text: rule("webhook: { url: file:///etc/passwd, secret_file: s }"),
      want: "must be an http or https address",
    },
    {
      id: "a webhook without a secret",
      text: rule("webhook: { url: https://example.test/ }"),
      want: "rules.phone.webhook.secret_file: is missing",
    },
    {
      id: "an ntfy address without a topic",
      text: rule("ntfy: { url: https://ntfy.sh/ }"),
      want: "must end in a topic",
    },
    {
      id: "a program by a relative path",
      text: rule("command: { argv: [./hook.sh] }"),
      want: "the program must be a name on PATH or an absolute path",
    },
    {
      id: "a line of shell",
      text: rule("command: notify-send hello"),
      want: "4: rules.phone.command: expected lines of `name: value`",
    },
    {
      id: "an address that is none",
      text: rule(
        'mail: { to: "a@b\\r\\nBcc: c", from: a@b.test, jmap_url: https://x.test, password_file: p }',
      ),
      want: "rules.phone.mail.to",
    },
    {
      id: "a name that is a path",
      text: lines("version: 1", "rules:", "  ../x: {}"),
      want: "is not known here",
    },
    { id: "a list", text: "- x\n", want: "1: the file: expected lines of `name: value`" },
  ])("$id", ({ text, want }) => {
    const found = findings(text);
    expect(found.length).toBeGreaterThan(0);
    expect(found.join("\n")).toContain(want);
    expect(found.join("\n")).not.toContain("me:pw");
  });
});

test.each([
  { url: "https://ntfy.sh/mytopic", want: { server: "https://ntfy.sh/", topic: "mytopic" } },
  { url: "https://host.test/ntfy/my-topic", want: { server: "https://host.test/ntfy/", topic: "my-topic" } },
  { url: "https://ntfy.sh", want: null },
  { url: "https://ntfy.sh/a%20b", want: null },
])("the topic of $url", ({ url, want }) => {
  expect(topicOf(url)).toEqual(want);
});

describe("a rule file names programs, so it must be this user's alone", () => {
  test("one that others may write is refused, and one in a .svc folder", () => {
    using scratch = createScratch();
    const path = scratch.path("deliveries.yaml");
    writeFileSync(path, rule(webhook), { mode: 0o600 });
    expect(readRules(scratch.files, path)).toMatchObject({ ok: true });
    chmodSync(path, 0o622);
    expect(() => readRules(scratch.files, path)).toThrow(
      /is refused: .* is writable by its group or by others/,
    );
    chmodSync(path, 0o600);
    mkdirSync(scratch.path(".svc"));
    writeFileSync(scratch.path(".svc/deliveries.yaml"), rule(webhook), { mode: 0o600 });
    expect(() => readRules(scratch.files, scratch.path(".svc/deliveries.yaml"))).toThrow(
      /is in a .svc folder/,
    );
    // A link out of the configuration folder changes nothing of that.
    symlinkSync(scratch.path(".svc/deliveries.yaml"), scratch.path("linked.yaml"));
    expect(() => readRules(scratch.files, scratch.path("linked.yaml"))).toThrow(/is in a .svc folder/);
    expect(readRules(scratch.files, scratch.path("none.yaml"))).toBeNull();
  });

  test.each([
    { id: "readable by others", mode: 0o644, text: "hunter2\n", refused: true },
    { id: "readable by the group", mode: 0o640, text: "hunter2\n", refused: true },
    { id: "empty", mode: 0o600, text: "\n", refused: true },
    { id: "of this user alone", mode: 0o600, text: "hunter2\n", refused: false },
  ])("a secret file that is $id", ({ mode, text, refused }) => {
    using scratch = createScratch();
    writeFileSync(scratch.path("secret"), text);
    chmodSync(scratch.path("secret"), mode);
    const read = () => readSecret(scratch.files, scratch.path("deliveries.yaml"), "secret");
    if (!refused) return expect(read()).toBe("hunter2");
    expect(read).toThrow(`chmod 600 ${scratch.path("secret")}`);
    expect(read).not.toThrow(/hunter2/);
  });

  test("a secret is no link and lies not above the rule file", () => {
    using scratch = createScratch();
    writeFileSync(scratch.path("real"), "hunter2", { mode: 0o600 });
    symlinkSync(scratch.path("real"), scratch.path("link"));
    for (const name of ["link", "../real", "absent"])
      expect(() => readSecret(scratch.files, scratch.path("deliveries.yaml"), name)).toThrow();
  });
});

test("a file that changes is read again; a damaged one holds everything and is reported once", () => {
  using scratch = createScratch();
  const path = scratch.path("deliveries.yaml");
  const problems: string[] = [];
  let seconds = 1_000_000_000;
  const write = (text: string) => {
    writeFileSync(path, text, { mode: 0o600 });
    utimesSync(path, seconds, seconds++);
  };
  write(rule(webhook));
  const rules = createRuleSource({ files: scratch.files, path, onProblem: (one) => void problems.push(one) });
  const names = () => rules()?.map(({ name }) => name) ?? null;
  expect(names()).toEqual(["phone"]);
  write(rule(webhook, "digets: 5"));
  expect([names(), names()]).toEqual([null, null]);
  expect(problems).toEqual([
    expect.stringContaining("deliveries.yaml:5: rules.phone.digets: is not known here"),
  ]);
  write(rule(webhook).replace("phone", "desk"));
  expect(names()).toEqual(["desk"]);
  expect(problems.length).toBe(1);
});
