import { join } from "node:path";
import { defaultMailbox } from "../../src/services/mail/address.ts";
import { initMailRoot, openMailRoot } from "../../src/services/mail/filesystem/root.ts";
import { createClock } from "../../src/system/clock.ts";
import { createFaultSteps } from "./fault-steps.ts";
import { mailRootDeps } from "./mail-root.ts";

// One act on the mailbox root named by the first argument, in a process that may end at any of its steps (see
// fault-steps.ts). Says `done` when the act has returned. Further arguments are what the act needs.

const [act = "", path = "", ...refs] = process.argv.slice(2);
const faults = createFaultSteps(process.env);
const clock = createClock();
/** Long enough to be the wait before files of delivered mail are put on disk, and no announcement's. */
const backgroundMs = 50;
/**
 * Files are put on disk in the background by `settled` alone. A process that a busy machine delays would
 * otherwise take steps that the next one, which is to be killed at them, does not take.
 */
const withoutBackground = {
  ...clock,
  monotonicMs: () => 0,
  after: (ms: number, run: () => void) => (ms < backgroundMs ? clock.after(ms, run) : () => {}),
};
/** Resolves once the index has forgotten the text of a message that was synced. */
const onDisk = Promise.withResolvers<void>();
const deps = mailRootDeps({
  system: { clock: act === "settled" ? clock : withoutBackground },
  steps: {
    before: faults.before,
    after(label) {
      faults.after(label);
      if (label === "sql:mail-synced") onDisk.resolve();
    },
  },
});
const plain = { attachments: [], notifyBlock: null, notifyAuth: null };
const ben = defaultMailbox("ben");
const longText = "x".repeat(70_000);
const eve = { address: ben.address, principalId: "SVC-eve" };

function acts() {
  const root = openMailRoot(deps, path);
  const mailbox = (name: string) => root.openMailbox(defaultMailbox(name));
  const { registrations } = root;
  const sendPlain = () =>
    mailbox("ada").send({ to: [ben.address], cc: [], subject: "sent", body: "text", ...plain });
  return {
    send: () =>
      mailbox("ada").send({
        to: [ben.address],
        cc: [defaultMailbox("cleo").address],
        subject: "sent",
        body: "text",
        ...plain,
        attachments: [{ path: join(path, "protocol-version.txt") }],
      }),
    /** Its file is written before the commit. */
    long: () =>
      mailbox("ada").send({
        to: [ben.address],
        cc: [],
        subject: "long",
        body: longText,
        ...plain,
        attachments: [{ path: join(path, "protocol-version.txt") }],
      }),
    self: () =>
      mailbox("ada").send({
        to: [defaultMailbox("ada").address],
        cc: [],
        subject: "self",
        body: "",
        ...plain,
      }),
    /** As `send`, and its file is put on disk by the end of the process. */
    closed: async () => {
      await sendPlain();
      root.close();
    },
    /** The same in the background, while the process lives on. */
    settled: async () => {
      await sendPlain();
      await onDisk.promise;
    },
    post: () => mailbox("ben").post({ subject: "note", body: "", replyPolicy: "none", ...plain }),
    reply: () => mailbox("ben").reply(refs[0] ?? "", { body: "answer", ...plain }),
    read: () => mailbox("ben").read(refs[0] ?? ""),
    mark: () => mailbox("ben").mark(refs, { read: true, answered: true }),
    move: () => mailbox("ben").move(refs, "projects"),
    archive: () => mailbox("ben").archive(refs),
    list: () => mailbox("ben").peek(refs[0] ?? ""),
    register: () => registrations.register({ ...defaultMailbox("dora"), mode: "safe" }),
    force: () => registrations.register({ ...eve, mode: "force" }),
    stash: () => registrations.register({ ...eve, mode: "stash" }),
    deactivate: () => registrations.deregister({ address: ben.address, mode: "deactivate" }),
    purge: () => registrations.deregister({ address: ben.address, mode: "purge" }),
  };
}

if (act === "init") initMailRoot(deps, path);
else await acts()[act as keyof ReturnType<typeof acts>]();
process.stdout.write("done\n");
process.exit(0);
