import { and, asc, desc, eq, gt, sql } from "drizzle-orm";
import type { Store } from "../open.ts";
import * as schema from "./catalog/schema.ts";

const { attachments, catalog, messages, pendingArtifacts, projections, recipients, registrations } = schema;

const value = sql.placeholder;

/** The statements that every delivery and every look at a mailbox runs. */
export function catalogStatements({ db }: Pick<Store, "db">) {
  return {
    generation: db.select({ generation: catalog.generation }).from(catalog).prepare(),
    active: db
      .select()
      .from(registrations)
      .where(and(eq(registrations.address, value("address")), sql`status = 'active'`))
      .prepare(),
    at: db
      .select()
      .from(registrations)
      .where(eq(registrations.address, value("address")))
      .orderBy(desc(registrations.createdAtUtc), desc(sql`rowid`))
      .prepare(),
    pending: db.select().from(pendingArtifacts).orderBy(asc(pendingArtifacts.id)).prepare(),
    newest: db
      .select({ seq: sql<number | null>`max(${projections.seq})` })
      .from(projections)
      .where(eq(projections.registrationId, value("registrationId")))
      .prepare(),
    after: db
      .select({
        seq: projections.seq,
        folder: projections.folder,
        messageId: messages.messageId,
        threadId: messages.threadId,
        inReplyTo: messages.inReplyTo,
        createdAtUtc: messages.createdAtUtc,
        subject: messages.subject,
        senderAddress: messages.senderAddress,
        canonicalPath: messages.canonicalPath,
        envelopeJson: messages.envelopeJson,
        bodyPreview: messages.bodyPreview,
      })
      .from(projections)
      .innerJoin(messages, eq(messages.messageId, projections.messageId))
      .where(and(eq(projections.registrationId, value("registrationId")), gt(projections.seq, value("seq"))))
      .orderBy(asc(projections.seq))
      .limit(value("limit"))
      .prepare(),
    known: db
      .select({ messageId: messages.messageId })
      .from(messages)
      .where(eq(messages.messageId, value("messageId")))
      .prepare(),
    addMessage: db
      .insert(messages)
      .values({
        messageId: value("messageId"),
        threadId: value("threadId"),
        inReplyTo: value("inReplyTo"),
        createdAtUtc: value("createdAtUtc"),
        subject: value("subject"),
        senderAddress: value("senderAddress"),
        senderPrincipalId: value("senderPrincipalId"),
        canonicalPath: value("canonicalPath"),
        envelopeJson: value("envelopeJson"),
        bodyPreview: value("bodyPreview"),
      })
      .onConflictDoNothing()
      .prepare(),
    addRecipient: db
      .insert(recipients)
      .values({
        messageId: value("messageId"),
        ordinal: value("ordinal"),
        kind: value("kind"),
        address: value("address"),
        principalId: value("principalId"),
        deliveredRegistrationId: value("deliveredRegistrationId"),
      })
      .onConflictDoNothing()
      .prepare(),
    addAttachment: db
      .insert(attachments)
      .values({
        messageId: value("messageId"),
        ordinal: value("ordinal"),
        attachmentId: value("attachmentId"),
        kind: value("kind"),
        path: value("path"),
        mediaType: value("mediaType"),
        sha256: value("sha256"),
        sizeBytes: value("sizeBytes"),
        label: value("label"),
      })
      .onConflictDoNothing()
      .prepare(),
    addProjection: db
      .insert(projections)
      .values({
        registrationId: value("registrationId"),
        messageId: value("messageId"),
        folder: value("folder"),
      })
      .onConflictDoNothing()
      .prepare(),
  };
}
