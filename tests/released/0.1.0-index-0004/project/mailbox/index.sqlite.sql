BEGIN;
CREATE TABLE __migrations (idx INTEGER PRIMARY KEY, tag TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at_utc TEXT NOT NULL);
INSERT INTO "__migrations" VALUES (0, '0000_catalog', 'bfe96a69664d63a2bb7eb5197ea92dcd8430b9bf57e9548e4e9322c82a9f0631', '2026-11-26T15:48:17.703+00:00');
INSERT INTO "__migrations" VALUES (1, '0001_threads', 'dfe2ed964a100fbf48da5de6a99bdfaa59e1533c40ff09dfd788248f962ff319', '2026-11-26T15:48:17.703+00:00');
INSERT INTO "__migrations" VALUES (2, '0002_host_outbox', 'c7ae484b86cd3789ad9b172b544865e2998dbecd218c97112aea603b56878412', '2026-11-26T15:48:17.703+00:00');
INSERT INTO "__migrations" VALUES (3, '0003_attestation', '4e6138095ca1b1c49193363169cd738f0d01afe678653288addb532a7792c393', '2026-11-26T15:48:17.704+00:00');
INSERT INTO "__migrations" VALUES (4, '0004_unsynced_messages', '356210a716b0c5d6d73ce24d3ba571eed6a734d9d8131594d91d82ded01aeeb0', '2026-11-26T15:48:17.704+00:00');
CREATE TABLE `attachments` (
	`message_id` text NOT NULL,
	`ordinal` integer NOT NULL,
	`attachment_id` text NOT NULL,
	`kind` text NOT NULL,
	`path` text NOT NULL,
	`media_type` text NOT NULL,
	`sha256` text,
	`size_bytes` integer,
	`label` text,
	PRIMARY KEY(`message_id`, `ordinal`),
	CONSTRAINT "attachment_kind_known" CHECK("attachments"."kind" = 'path_ref' OR "attachments"."kind" = 'managed_copy')
);
CREATE TABLE `catalog` (
	`singleton` integer PRIMARY KEY NOT NULL,
	`generation` text NOT NULL,
	CONSTRAINT "only_one_catalog" CHECK("catalog"."singleton" = 1)
);
INSERT INTO "catalog" VALUES (1, '31d86d79e6386425f4303d735a877fd1');
CREATE TABLE `messages` (
	`message_id` text PRIMARY KEY NOT NULL,
	`thread_id` text NOT NULL,
	`in_reply_to` text,
	`created_at_utc` text NOT NULL,
	`subject` text NOT NULL,
	`sender_address` text NOT NULL,
	`sender_principal_id` text NOT NULL,
	`canonical_path` text NOT NULL,
	`envelope_json` text NOT NULL,
	`body_preview` text NOT NULL
);
INSERT INTO "messages" VALUES ('msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58', 'msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58', NULL, '2026-11-26T15:48:27.961Z', 'A harbor', 'worker@svc.localhost', 'SVC-worker', 'messages/2026-11-26/msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58.md', '{"protocol_version":3,"message_id":"msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58","thread_id":"msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58","in_reply_to":null,"references":[],"created_at_utc":"2026-11-26T15:48:27.961Z","from":{"principal_id":"SVC-worker","address":"worker@svc.localhost","display_name":"worker"},"to":[{"principal_id":"SVC-worker","address":"worker@svc.localhost","display_name":"worker"}],"cc":[],"reply_to":[],"subject":"A harbor","attachments":[],"headers":{"x-svc-attestation":{"statement":"[\"svc-mail-attestation-v1\",\"msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58\",\"2026-11-26T15:48:27.961Z\",\"worker@svc.localhost\",[\"worker@svc.localhost\"],[],\"msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58\",null,\"2bff328cd2d77d1e871d24ab0e02b4061e057f4c008e19c199208a3d74e95206\",\"8621b1fa69ec9a2da35e34483833a93164515ae05e3a0a3c7bd0c9275a3137e0\",1,null]","key":"a32O1K7ezBwyPfvYucn2gNu5zoQp66_NF5OoB5Of0o8","signature":"MfFwIIFbJJAHgm3Ng70c0iqudO5NNcGYHo22kmOqkdtTZBZcpCbAIIdLZgrVitPTM2aRtSM3m_R-Y9c1z9BLAg"}},"notify_block":null,"notify_auth":null}', 'The bell rings at noon.');
CREATE TABLE `pending_artifacts` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`action` text NOT NULL,
	`path` text NOT NULL,
	`destination` text,
	CONSTRAINT "action_known" CHECK("pending_artifacts"."action" = 'remove' OR "pending_artifacts"."action" = 'rename')
);
CREATE TABLE `projections` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`registration_id` text NOT NULL,
	`message_id` text NOT NULL,
	`folder` text NOT NULL
);
INSERT INTO "projections" VALUES (1, 'reg-e22203f20d3a8ecc5045569d6c51f5db', 'msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58', 'inbox');
CREATE TABLE `recipients` (
	`message_id` text NOT NULL,
	`ordinal` integer NOT NULL,
	`kind` text NOT NULL,
	`address` text NOT NULL,
	`principal_id` text NOT NULL,
	`delivered_registration_id` text,
	PRIMARY KEY(`message_id`, `ordinal`),
	CONSTRAINT "recipient_kind_known" CHECK("recipients"."kind" = 'to' OR "recipients"."kind" = 'cc')
);
INSERT INTO "recipients" VALUES ('msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58', 0, 'to', 'worker@svc.localhost', 'SVC-worker', 'reg-e22203f20d3a8ecc5045569d6c51f5db');
CREATE TABLE `registrations` (
	`registration_id` text PRIMARY KEY NOT NULL,
	`address` text NOT NULL,
	`owner_principal_id` text NOT NULL,
	`status` text NOT NULL,
	`mailbox_kind` text NOT NULL,
	`mailbox_path` text NOT NULL,
	`mailbox_entry_path` text NOT NULL,
	`display_name` text,
	`manifest_path_hint` text,
	`role` text,
	`created_at_utc` text NOT NULL,
	`deactivated_at_utc` text,
	`replaced_by_registration_id` text,
	CONSTRAINT "status_known" CHECK("registrations"."status" = 'active' OR "registrations"."status" = 'inactive' OR "registrations"."status" = 'stashed'),
	CONSTRAINT "kind_known" CHECK("registrations"."mailbox_kind" = 'in_root' OR "registrations"."mailbox_kind" = 'symlink')
);
INSERT INTO "registrations" VALUES ('reg-bbe9ab7c0c25e02333fb39ece8056f73', 'SVC-operator@svc.localhost', 'SVC-operator', 'active', 'in_root', 'mailboxes/SVC-operator@svc.localhost', 'mailboxes/SVC-operator@svc.localhost', NULL, NULL, 'system_operator', '2026-11-26T15:48:17.727Z', NULL, NULL);
INSERT INTO "registrations" VALUES ('reg-e22203f20d3a8ecc5045569d6c51f5db', 'worker@svc.localhost', 'SVC-worker', 'active', 'in_root', 'mailboxes/worker@svc.localhost', 'mailboxes/worker@svc.localhost', 'worker', '{{home}}/.local/state/svc/runtime/sessions/local_interactive/local_interactive-20261126-154817Z-9f3fbb57/manifest.json', NULL, '2026-11-26T15:48:17.763Z', NULL, NULL);
CREATE TABLE `fleet_host` (
	`singleton` integer PRIMARY KEY NOT NULL,
	`host` text NOT NULL,
	CONSTRAINT "only_one_fleet_host" CHECK("fleet_host"."singleton" = 1)
);
CREATE TABLE `host_outbox` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`message_id` text NOT NULL,
	`host` text NOT NULL,
	`accepted_at_utc` text NOT NULL
);
CREATE TABLE `attestation_keys` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`address` text NOT NULL,
	`public_key` text NOT NULL,
	`registration_id` text,
	`seen_at_utc` text NOT NULL
);
INSERT INTO "attestation_keys" VALUES (1, 'SVC-operator@svc.localhost', 'JfBteWS_JM6S55-_RGaq5sgpqGshbjByiHcb_VRxE6U', 'reg-bbe9ab7c0c25e02333fb39ece8056f73', '2026-11-26T15:48:17.747Z');
INSERT INTO "attestation_keys" VALUES (2, 'worker@svc.localhost', 'a32O1K7ezBwyPfvYucn2gNu5zoQp66_NF5OoB5Of0o8', 'reg-e22203f20d3a8ecc5045569d6c51f5db', '2026-11-26T15:48:17.768Z');
CREATE TABLE `attested_mail` (
	`registration_id` text NOT NULL,
	`sequence` integer NOT NULL,
	`message_id` text NOT NULL,
	`hash` text NOT NULL,
	`is_cleared` integer DEFAULT false NOT NULL,
	PRIMARY KEY(`registration_id`, `sequence`)
);
INSERT INTO "attested_mail" VALUES ('reg-e22203f20d3a8ecc5045569d6c51f5db', 1, 'msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58', '7cf9ad3d1659b413dfb00e63c73f04f7cf9c78c61a84f3524ccda1dbbe2222ac', 0);
CREATE TABLE `unsynced_messages` (
	`seq` integer PRIMARY KEY NOT NULL,
	`message_id` text NOT NULL,
	`text` text NOT NULL
);
CREATE INDEX `attachments_by_id` ON `attachments` (`attachment_id`);
CREATE INDEX `messages_by_thread` ON `messages` (`thread_id`);
CREATE UNIQUE INDEX `one_projection` ON `projections` (`registration_id`,`message_id`);
CREATE INDEX `projections_in_order` ON `projections` (`registration_id`,`seq`);
CREATE INDEX `projections_by_message` ON `projections` (`message_id`);
CREATE UNIQUE INDEX `one_active_registration` ON `registrations` (`address`) WHERE status = 'active';
CREATE INDEX `registrations_by_address` ON `registrations` (`address`);
CREATE VIEW `thread_summaries` AS
SELECT `thread_id`, count(*) AS `message_count`, min(`created_at_utc`) AS `started_at_utc`,
  max(`created_at_utc`) AS `latest_at_utc`
FROM `messages` GROUP BY `thread_id`;
CREATE UNIQUE INDEX `one_entry_for_each_host` ON `host_outbox` (`message_id`,`host`);
CREATE UNIQUE INDEX `one_entry_for_each_key` ON `attestation_keys` (`address`,`public_key`);
CREATE INDEX `attested_by_message` ON `attested_mail` (`message_id`);
COMMIT;
