import { describe, expect, test } from "bun:test";
import type { Registration } from "../../../src/services/mail/filesystem/registration/registrations.ts";
import { planCleanup } from "../../../src/services/mail/filesystem/upkeep/cleanup.ts";

const nowMs = Date.parse("2026-11-21T10:00:00Z");
const root = "/mail";

function registration(given: Partial<Registration> & { registration_id: string }): Registration {
  const address = given.address ?? "ann@svc.localhost";
  const entry = `${root}/mailboxes/${address}`;
  return {
    address,
    owner_principal_id: "SVC-ann",
    status: "active",
    mailbox_kind: "in_root",
    mailbox_path: entry,
    mailbox_entry_path: entry,
    display_name: null,
    manifest_path_hint: null,
    role: null,
    created_at_utc: "2026-11-20T10:00:00.000Z",
    deactivated_at_utc: given.status === "active" ? null : "2026-11-21T09:59:00.000Z",
    replaced_by_registration_id: null,
    ...given,
  };
}

function plan(registrations: Registration[], options: { olderThan?: number; outside?: string } = {}) {
  const { planned, blocked, preserved, removed } = planCleanup({
    root,
    nowMs,
    inactiveOlderThanSeconds: options.olderThan ?? 0,
    stashedOlderThanSeconds: options.olderThan ?? 0,
    registrations,
    whyOutside: (path) => (path === options.outside ? "it lies outside" : null),
  });
  const told = (actions: typeof planned) =>
    actions.map((one) => `${one.artifact_kind} ${one.details["registration_id"] ?? "all"}`);
  return {
    planned: told(planned),
    blocked: told(blocked),
    preserved: told(preserved).filter((one) => one !== "canonical_message all"),
    removed: removed.map((one) => one.registration_id),
  };
}

describe("what a cleanup takes away", () => {
  const cases: { id: string; given: Parameters<typeof plan>; want: Partial<ReturnType<typeof plan>> }[] = [
    {
      id: "an inactive mailbox goes with its folder",
      given: [[registration({ registration_id: "r1", status: "inactive" })]],
      want: { planned: ["registration r1", "mailbox_directory r1"], removed: ["r1"] },
    },
    {
      id: "an active mailbox stays",
      given: [[registration({ registration_id: "r1" })]],
      want: { planned: [], preserved: ["registration r1"], removed: [] },
    },
    {
      id: "the operator's mailbox stays whatever its status",
      given: [
        [registration({ registration_id: "r1", address: "SVC-operator@svc.localhost", status: "inactive" })],
      ],
      want: { planned: [], removed: [] },
    },
    {
      id: "a mailbox that is not inactive for long enough stays",
      given: [[registration({ registration_id: "r1", status: "inactive" })], { olderThan: 61 }],
      want: { planned: [], preserved: ["registration r1"] },
    },
    {
      id: "the age is reached to the second",
      given: [[registration({ registration_id: "r1", status: "stashed" })], { olderThan: 60 }],
      want: { removed: ["r1"] },
    },
    {
      id: "the folder of a former mailbox stays while its successor lives in it",
      given: [
        [
          registration({ registration_id: "new" }),
          registration({ registration_id: "old", status: "inactive" }),
        ],
      ],
      want: {
        planned: ["registration old"],
        preserved: ["registration new", "mailbox_directory old"],
        removed: ["old"],
      },
    },
    {
      id: "two former mailboxes of one folder remove it once",
      given: [
        [
          registration({ registration_id: "r1", status: "inactive" }),
          registration({ registration_id: "r2", status: "inactive" }),
        ],
      ],
      want: {
        planned: ["registration r1", "mailbox_directory r1", "registration r2"],
        removed: ["r1", "r2"],
      },
    },
    {
      id: "of a mailbox outside of the root only the link goes",
      given: [
        [
          registration({
            registration_id: "r1",
            status: "inactive",
            mailbox_kind: "symlink",
            mailbox_path: "/home/ann/mail",
          }),
        ],
      ],
      want: { planned: ["registration r1", "mailbox_entry r1"], preserved: ["mailbox_directory r1"] },
    },
    {
      id: "a folder that cannot be removed safely blocks its registration",
      given: [
        [registration({ registration_id: "r1", status: "inactive" })],
        { outside: `${root}/mailboxes/ann@svc.localhost` },
      ],
      want: { planned: [], blocked: ["mailbox_directory r1", "registration r1"], removed: [] },
    },
  ];
  test.each(cases)("$id", ({ given, want }) => {
    expect(plan(...given)).toMatchObject(want);
  });
});
