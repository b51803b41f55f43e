import { type Static, Type } from "@sinclair/typebox";
import { Strict } from "./wire.ts";

/** One folder of an archive: its kind and its original path. */
export const BackupPlace = Strict({
  /** First segment of the entry names. */
  name: Type.String({ pattern: "^[a-z]+(-[0-9]+)?$" }),
  kind: Type.Union([
    Type.Literal("registry"),
    Type.Literal("runtime"),
    Type.Literal("state"),
    Type.Literal("session"),
    Type.Literal("mailbox"),
    /** The folder of a mailbox that lies outside of its root. */
    Type.Literal("linked_mailbox"),
  ]),
  /** Absolute, on the machine that was backed up. */
  path: Type.String(),
});
export type BackupPlace = Static<typeof BackupPlace>;

/** `svc-backup.json`, the first entry of an archive. */
export const BackupManifest = Strict({
  schema_version: Type.Literal(1),
  svc_version: Type.String(),
  created_at_utc: Type.String(),
  home: Type.String(),
  with_secrets: Type.Boolean(),
  places: Type.Array(BackupPlace, { maxItems: 100_000 }),
});
export type BackupManifest = Static<typeof BackupManifest>;
