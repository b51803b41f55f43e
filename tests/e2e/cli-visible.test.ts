import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { defaultMailbox } from "../../src/services/mail/address.ts";
import { initMailRoot, openMailRoot } from "../../src/services/mail/filesystem/root.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { mailRootDeps } from "../support/mail-root.ts";
import { draft } from "../support/mail-story.ts";

/** One of each kind: C0, C1, DEL, bidi, line separators, zero width, tag. */
const hostile = "a\x1b[2Jb\x07c\x7fd\x9be\u202ef\u2066g\u2028h\u200bi\u{e0041}j";
const forbidden =
  /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069]|[\u{e0001}-\u{e007f}]/u;

test("at a real terminal no command shows a hostile character, as a table or as JSON", async () => {
  await using fixture = createCliFixture();
  const root = join(fixture.folder, "mail");
  const deps = mailRootDeps();
  initMailRoot(deps, root);
  const mail = openMailRoot(deps, root);
  for (const name of ["ann", "bob"]) mail.registrations.register({ ...defaultMailbox(name), mode: "safe" });
  const ann = mail.openMailbox(defaultMailbox("ann"));
  const { message_ref } = await ann.send(
    draft("bob", "one", {
      subject: "a\u202eb\u2066c\u200bd\u{e0041}e",
      body: `first line\n\ttabbed ${hostile}\nlast line`,
    }),
  );
  ann.close();
  mail.close();
  const box = ["mailbox", "--mailbox-root", root, "messages"];
  const of = ["--address", "bob@svc.localhost"];
  const id = message_ref.replace("filesystem:", "");
  const commands: { words: string[]; json: boolean }[] = [false, true].flatMap((json) =>
    [
      [...box, "list", ...of],
      [...box, "get", ...of, "--message-id", id],
      ["agents", "single", "--agent-name", hostile, "state"],
      ["tools", "explain", join(fixture.folder, `no ${hostile.replaceAll("/", "")}`)],
      [hostile],
    ].map((words) => ({ words: [...words, ...(json ? ["--json"] : [])], json })),
  );
  for (const { words, json } of commands) {
    const script = join(fixture.folder, "script.json");
    writeFileSync(script, JSON.stringify([...fixture.command("svc-mgr"), ...words]));
    // `script` gives the program a terminal of its own and writes down every byte that reaches it.
    const line = `script -qec "$(command -v bun) -e 'const w = JSON.parse(require(\\"fs\\").readFileSync(\\"${script}\\", \\"utf8\\")); process.exit(Bun.spawnSync(w, { stdin: \\"inherit\\", stdout: \\"inherit\\", stderr: \\"inherit\\" }).exitCode)'" /dev/null`;
    const run = await fixture.shell(line);
    // The terminal itself ends lines with CR; the colour of "Error:" is our own.
    const shown = run.stdout.replaceAll("\r\n", "\n").replace(/\x1b\[(?:31|0)m/g, "");
    expect([words, shown]).toEqual([words, expect.stringMatching(/./)]);
    expect(shown).not.toMatch(forbidden);
    if (json) expect(() => JSON.parse(shown)).not.toThrow();
    if (json && words.includes("list")) {
      const piped = await fixture.mgr(...words);
      expect(JSON.parse(shown)).toEqual(piped.json());
      expect(piped.stdout).toMatch(forbidden);
    }
  }
});
