import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { defaultMailbox } from "../../src/services/mail/address.ts";
import {
  getMessage,
  listAccounts,
  listMessages,
} from "../../src/services/mail/filesystem/registration/accounts.ts";
import { repairMailRoot } from "../../src/services/mail/filesystem/repair/repair.ts";
import { initMailRoot, type MailRoot, openMailRoot } from "../../src/services/mail/filesystem/root.ts";
import { cleanUpMailRoot } from "../../src/services/mail/filesystem/upkeep/cleanup.ts";
import { clearMessages } from "../../src/services/mail/filesystem/upkeep/clear.ts";
import { exportMailRoot } from "../../src/services/mail/filesystem/upkeep/export.ts";
import { awaitOutcome } from "../support/await-outcome.ts";
import { createMailRootFixture } from "../support/mail-root.ts";
import { draft, everything } from "../support/mail-story.ts";
import { chooseCases, matrixChoice } from "../support/matrix.ts";

/** All that lies below a folder: paths with what each holds. */
function contentOf(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries
      .map((entry): [string, string] => {
        const path = join(entry.parentPath, entry.name);
        const mode = lstatSync(path).mode.toString(8);
        if (entry.isSymbolicLink()) return [path, `link ${readlinkSync(path)}`];
        return [path, entry.isFile() ? `${mode} ${readFileSync(path, "utf8")}` : mode];
      })
      .sort(([left], [right]) => (left < right ? -1 : 1)),
  );
}

const strangeId = "msg-20260101T000000Z-0123456789abcdef0123456789abcdef";

/**
 * A mailbox root with mail from ann to bob and to cleo, and beside it a folder that is none of its business.
 */
async function planted() {
  const fixture = createMailRootFixture();
  const ann = fixture.mailbox("ann");
  const bob = fixture.mailbox("bob");
  const cleo = fixture.mailbox("cleo");
  const attached = fixture.scratch.path("report.txt");
  writeFileSync(attached, "report");
  const sent = await ann.send(draft("bob", "to bob", { attachments: [{ path: attached }] }));
  await ann.send(draft("cleo", "to cleo"));
  for (const one of [bob, cleo]) await one.list(everything);
  fixture.putOnDisk();
  const precious = fixture.scratch.path("precious");
  mkdirSync(join(precious, "inner"), { recursive: true });
  writeFileSync(join(precious, "inner", "diary.md"), "dear diary");
  symlinkSync("diary.md", join(precious, "inner", `${strangeId}.md`));
  const before = contentOf(precious);
  const statement =
    (...path: string[]) =>
    (text: string, ...values: (string | number | null)[]) => {
      const database = new Database(join(fixture.path, ...path));
      database.run(text, values);
      database.close();
    };
  return {
    fixture,
    precious,
    ann,
    bob,
    cleo,
    sentRef: sent.message_ref,
    sentId: sent.message_ref.replace("filesystem:", ""),
    index: statement("index.sqlite"),
    state: statement("mailboxes", bob.address, "mailbox.sqlite"),
    /** Nothing outside of the root was changed. */
    untouched: () => expect(contentOf(precious)).toEqual(before),
    [Symbol.dispose]: () => fixture[Symbol.dispose](),
  };
}

type Planted = Awaited<ReturnType<typeof planted>>;
type Plant = { id: string; plant: (at: Planted) => void };

const bobRow = "WHERE address = 'bob@svc.localhost'";
const pending = "INSERT INTO pending_artifacts (action, path, destination) VALUES (?, ?, ?)";

const plants: Plant[] = [
  ...[
    "../precious",
    "mailboxes/../../precious",
    "away",
    "away/inner",
    "./../precious",
    "mailboxes//../../precious",
  ].map((path) => ({
    id: `a pending removal of ${path}`,
    plant: ({ index }: Planted) => index(pending, "remove", path, null),
  })),
  {
    id: "a pending removal of an absolute path",
    plant: ({ index, precious }) => index(pending, "remove", precious, null),
  },
  {
    id: "a pending removal below a link in place of mailboxes",
    plant: ({ index }) => index(pending, "remove", "away/inner/diary.md", null),
  },
  {
    id: "a pending rename from outside",
    plant: ({ index }) => index(pending, "rename", "../precious/inner", "mailboxes/taken"),
  },
  {
    id: "a pending rename to the outside",
    plant: ({ index }) => index(pending, "rename", "mailboxes/bob@svc.localhost", "../precious/taken"),
  },
  {
    id: "a mailbox path above the root",
    plant: ({ index }) => index(`UPDATE registrations SET mailbox_path = '../precious' ${bobRow}`),
  },
  {
    id: "a mailbox path through a link",
    plant: ({ index }) => index(`UPDATE registrations SET mailbox_path = 'away' ${bobRow}`),
  },
  {
    id: "an absolute mailbox path in the root",
    plant: ({ index, precious }) => index(`UPDATE registrations SET mailbox_path = ? ${bobRow}`, precious),
  },
  {
    id: "an entry path above the root",
    plant: ({ index }) => index(`UPDATE registrations SET mailbox_entry_path = '../precious' ${bobRow}`),
  },
  {
    id: "both paths above the root",
    plant: ({ index }) =>
      index(
        `UPDATE registrations SET mailbox_entry_path = '../precious', mailbox_path = '../precious' ${bobRow}`,
      ),
  },
  {
    id: "a linked mailbox that nobody registered",
    plant: ({ index, precious }) =>
      index(
        `UPDATE registrations SET mailbox_kind = 'symlink', mailbox_path = ?, mailbox_entry_path = 'mailboxes/b' ${bobRow}`,
        precious,
      ),
  },
  {
    id: "an address that is a path",
    plant: ({ index }) => index(`UPDATE registrations SET address = '../../precious' ${bobRow}`),
  },
  {
    id: "a registration id that is a path",
    plant: ({ index }) => index(`UPDATE registrations SET registration_id = '../../../precious' ${bobRow}`),
  },
  {
    id: "a message file above the root",
    plant: ({ index, sentId }) =>
      index("UPDATE messages SET canonical_path = '../precious/inner/diary.md' WHERE message_id = ?", sentId),
  },
  {
    id: "a message that was made on a path",
    plant: ({ index, state, sentId }) => {
      index("UPDATE messages SET created_at_utc = '../../prec' WHERE message_id = ?", sentId);
      state("UPDATE message_state SET created_at_utc = '../../prec' WHERE message_id = ?", sentId);
    },
  },
  {
    id: "a message id that is a path",
    plant: ({ index, state, sentId }) => {
      for (const table of ["messages", "projections", "attachments"])
        index(`UPDATE ${table} SET message_id = '../../precious/inner/diary' WHERE message_id = ?`, sentId);
      state(
        "UPDATE message_state SET message_id = '../../precious/inner/diary' WHERE message_id = ?",
        sentId,
      );
    },
  },
  {
    id: "an attachment above the root",
    plant: ({ index, sentId }) =>
      index("UPDATE attachments SET path = '../precious/inner/diary.md' WHERE message_id = ?", sentId),
  },
  {
    id: "an attachment id that is a path",
    plant: ({ index, sentId }) =>
      index("UPDATE attachments SET attachment_id = '../../../precious' WHERE message_id = ?", sentId),
  },
  {
    id: "a box above the mailbox",
    plant: ({ state }) => state("UPDATE message_state SET box_name = '../../../precious/inner'"),
  },
  {
    id: "a link in a box above the mailbox",
    plant: ({ state }) =>
      state("UPDATE message_state SET link_box = '../../../precious/inner', box_name = 'later'"),
  },
  {
    id: "a link in the place of the write-ahead log",
    plant: ({ fixture, precious }) => {
      fixture.root.close();
      rmSync(join(fixture.path, "index.sqlite-wal"), { force: true });
      symlinkSync(join(precious, "inner", "diary.md"), join(fixture.path, "index.sqlite-wal"));
    },
  },
  {
    id: "a link in the place of the index",
    plant: ({ fixture, precious }) => {
      rmSync(join(fixture.path, "index.sqlite"));
      symlinkSync(join(precious, "new.sqlite"), join(fixture.path, "index.sqlite"));
    },
  },
  {
    id: "a link in the place of a lock",
    plant: ({ fixture, precious }) => {
      rmSync(join(fixture.path, "locks", "index.lock"), { force: true });
      symlinkSync(join(precious, "new.lock"), join(fixture.path, "locks", "index.lock"));
    },
  },
  {
    id: "a link in the place of a mailbox's state",
    plant: ({ fixture, precious }) => {
      const path = join(fixture.path, "mailboxes", "bob@svc.localhost", "mailbox.sqlite");
      rmSync(path);
      symlinkSync(join(precious, "new.sqlite"), path);
    },
  },
  ...["messages", "mailboxes", "staging", "rules", "locks", "attachments"].map((name) => ({
    id: `a link in the place of ${name}`,
    plant: ({ fixture, precious }: Planted) => {
      rmSync(join(fixture.path, name), { recursive: true });
      symlinkSync(join(precious, "inner"), join(fixture.path, name));
    },
  })),
];

/** All that anybody does with a root. What it is refused is as good as what it does. */
async function useAll(at: Planted): Promise<void> {
  const { fixture, bob, ann } = at;
  const { deps, path } = fixture;
  const attempt = async (work: () => unknown) => {
    try {
      await work();
    } catch {
      // The folder beside the root is what counts.
    }
  };
  const open = async (work: (root: MailRoot) => unknown) =>
    attempt(async () => {
      const root = openMailRoot(deps, path);
      try {
        await work(root);
      } finally {
        root.close();
      }
    });
  await attempt(() => bob.list({ ...everything, includeBody: true }));
  await attempt(() => bob.read(at.sentRef));
  await attempt(() => bob.mark([at.sentRef], { answered: true }));
  await attempt(() => bob.archive([at.sentRef]));
  await attempt(() => ann.send(draft("bob", "again")));
  await attempt(() => initMailRoot(deps, path));
  await open((root) => listAccounts(root));
  await open((root) => listMessages(deps, root, bob.address));
  await open((root) => getMessage(deps, root, bob.address, at.sentRef));
  await open((root) => {
    const mailbox = root.openMailbox(defaultMailbox("bob"));
    return mailbox.list(everything).finally(() => mailbox.close());
  });
  const symlinkMode = "materialize";
  const outputDir = fixture.scratch.path("export");
  await open((root) => exportMailRoot(deps, root, { outputDir, addresses: null, symlinkMode }));
  if (existsSync(outputDir)) expect(JSON.stringify(contentOf(outputDir))).not.toContain("dear diary");
  const repaired = { cleanupStaging: true, quarantineStaging: false };
  await attempt(() => repairMailRoot(deps, path, repaired));
  await open((root) => root.registrations.register({ ...defaultMailbox("bob"), mode: "force" }));
  await open((root) =>
    root.registrations.register({ ...defaultMailbox("bob"), principalId: "x", mode: "stash" }),
  );
  await open((root) => clearMessages(deps, root, { address: bob.address, dryRun: false }));
  await open((root) => clearMessages(deps, root, { address: null, dryRun: false }));
  await open((root) => root.registrations.deregister({ address: bob.address, mode: "purge" }));
  const ages = { inactiveOlderThanSeconds: 0, stashedOlderThanSeconds: 0 };
  at.index("UPDATE registrations SET status = 'inactive' WHERE address LIKE '%bob%' OR address LIKE '%..%'");
  await open((root) => cleanUpMailRoot(deps, root, { ...ages, dryRun: false }));
}

describe("what is planted in a mailbox root never reaches beyond it", () => {
  test.each(chooseCases(plants, ({ id }) => id, matrixChoice))("$id", async ({ plant }) => {
    using at = await planted();
    symlinkSync(at.precious, join(at.fixture.path, "away"));
    plant(at);
    await useAll(at);
    at.untouched();
  });
});

describe("what is refused says so, and the rest of the root goes on", () => {
  test("an order to remove something outside is dropped, and the next call answers", async () => {
    using at = await planted();
    at.index(pending, "remove", "../precious", null);
    expect(await awaitOutcome(at.bob.list(everything))).toThrow(
      'asked to remove "../precious", which is no mailbox of it: refused and dropped',
    );
    expect((await at.bob.list(everything)).messages).toHaveLength(1);
    at.untouched();
  });

  test("an honest order beside a hostile one is carried out", async () => {
    using at = await planted();
    mkdirSync(join(at.fixture.path, "mailboxes", "old@svc.localhost"));
    at.index(pending, "remove", "../precious", null);
    at.index(pending, "remove", "mailboxes/old@svc.localhost", null);
    expect(() => at.fixture.root.registrations.register({ ...defaultMailbox("dora"), mode: "safe" })).toThrow(
      "refused and dropped",
    );
    expect(existsSync(join(at.fixture.path, "mailboxes", "old@svc.localhost"))).toBe(false);
    at.untouched();
  });

  const rows = plants.filter(({ id }) => /mailbox path|entry path|both paths|nobody registered/.test(id));
  test.each(chooseCases(rows, ({ id }) => id, matrixChoice))(
    "$id stops its own mailbox only, and a repair takes it away",
    async ({ plant }) => {
      using at = await planted();
      const { fixture, ann, bob, cleo } = at;
      symlinkSync(at.precious, join(fixture.path, "away"));
      plant(at);
      expect(await awaitOutcome(bob.list(everything))).toThrow(
        'the registration of "bob@svc.localhost" names a',
      );
      await ann.send(draft("cleo", "goes on"));
      expect((await cleo.list(everything)).messages).toHaveLength(2);
      const repaired = await repairMailRoot(fixture.deps, fixture.path, {
        cleanupStaging: true,
        quarantineStaging: true,
      });
      expect(repaired.findings.map((one) => one.problem).join("\n")).toMatch(/not its own|did not register/);
      if (fixture.root.registrations.active(bob.address) === null) fixture.mailbox("bob");
      at.untouched();
    },
  );

  test("a linked mailbox that its user registered is used, also after the index was lost", async () => {
    using at = await planted();
    const { fixture, ann } = at;
    const own = fixture.scratch.path("private");
    const dora = defaultMailbox("dora");
    fixture.root.registrations.register({ ...dora, mode: "safe", kind: "symlink", mailboxPath: own });
    const mailbox = fixture.root.openMailbox(dora);
    await ann.send(draft("dora", "to dora"));
    expect((await mailbox.list(everything)).messages).toHaveLength(1);
    mailbox.close();
    rmSync(join(fixture.path, "index.sqlite"));
    await repairMailRoot(fixture.deps, fixture.path, { cleanupStaging: false, quarantineStaging: true });
    const again = fixture.root.openMailbox(dora);
    expect((await again.list(everything)).messages).toHaveLength(1);
    again.close();
  });
});
